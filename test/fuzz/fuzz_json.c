/*
 * fuzz_json.c - the JSON reader on any bytes, with every kernel of this machine, against a naive reader.
 *
 * What must hold: all kernels agree in everything; the text is taken exactly when the naive reader takes it; a member
 * "id" of the outermost object is found where the naive reader sees it, and two of them make the text invalid.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/naive_json.h"
#include "select/json_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

/*
 * The value of "id" in the outermost object of a valid text: returns how often the name stands there, *ret_start
 * where the first one's value begins. -1: some name is written with escapes, this reader cannot say.
 */
static int naive_find_id(const unsigned char *data, size_t len, size_t *ret_start)
{
    naive n = {.at = data, .end = data + len};
    int found = 0;
    naive_blanks(&n);
    if (!naive_take(&n, '{'))
        return 0;
    naive_blanks(&n);
    while (!naive_take(&n, '}')) {
        naive_take(&n, ',');
        naive_blanks(&n);
        const unsigned char *name = n.at;
        naive_string(&n);
        size_t name_len = (size_t)(n.at - name);
        if (memchr(name, '\\', name_len) != NULL)
            return -1;
        naive_blanks(&n);
        naive_take(&n, ':');
        naive_blanks(&n);
        if (name_len == 4 && memcmp(name, "\"id\"", 4) == 0 && found++ == 0)
            *ret_start = (size_t)(n.at - data);
        naive_value(&n);
    }
    return found;
}

static void check_id(const hx_json_reader *reader, hx_json_answer answer, uint32_t id, const unsigned char *data,
                     size_t len)
{
    size_t start = 0;
    int found = naive_find_id(data, len, &start);
    if (found < 0)
        return;
    must((answer == HX_JSON_OK) == (found <= 1));
    if (answer != HX_JSON_OK)
        return;
    hx_json_value value = hx_json_reader_get(reader, id);
    must((value.kind == HX_JSON_ABSENT) == (found == 0));
    if (found == 0)
        return;
    unsigned char c = data[start];
    hx_json_kind kind = c == '"'               ? HX_JSON_STRING
                        : c == 'n'             ? HX_JSON_NULL
                        : c == '{' || c == '[' ? HX_JSON_CONTAINER
                                               : HX_JSON_SCALAR;
    must(value.kind == kind);
    must(value.start == start + (kind == HX_JSON_STRING));
    must(value.end >= value.start && value.end <= len);
    must(kind != HX_JSON_STRING || data[value.end] == '"');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hx_pointer_tree tree = {0};
    hx_json_kernel kernels[HX_JSON_KERNELS_MAX];
    const char *names[HX_JSON_KERNELS_MAX];
    size_t count = hx_json_scan_kernels(kernels, names), offset, first_offset = 0;
    const char *reason;
    uint32_t id;
    bool deep;
    must(hx_pointer_add(&tree, "/id", &id, &offset, &reason) == 0);
    unsigned char *text = malloc(size + 1), *more = malloc(size + HX_JSON_BLOCK);
    must(text != NULL && more != NULL);
    /* right at the end of an allocation, so that the sanitizer sees a byte too many; and with rubbish behind it */
    memcpy(text + 1, data, size);
    memcpy(more, data, size);
    memset(more + size, '"', HX_JSON_BLOCK);
    bool good = naive_valid(data, size, &deep);
    hx_json_answer first = HX_JSON_OK;
    for (size_t i = 0; i < 2 * count; i++) {
        hx_json_reader *reader = malloc(sizeof *reader);
        must(reader != NULL && hx_json_reader_init(reader, &tree, kernels[i / 2]) == 0);
        hx_json_answer answer = i % 2 == 0 ? hx_json_reader_read(reader, text + 1, size, size)
                                           : hx_json_reader_read(reader, more, size, size + HX_JSON_BLOCK);
        if (i == 0) {
            first = answer;
            first_offset = reader->fault_offset;
        }
        must(answer == first);
        must(answer != HX_JSON_INVALID || (reader->fault_offset == first_offset && first_offset <= size));
        must(answer != HX_JSON_OK || deep || good);
        if (good)
            check_id(reader, answer, id, data, size);
        hx_json_reader_free(reader);
        free(reader);
    }
    free(more);
    free(text);
    hx_pointer_free(&tree);
    return 0;
}
