/*
 * fuzz_text.c - the strict readers of base/text.h and base/utf8.h on any bytes.
 *
 * The first byte chooses the reader. What must hold: a refused text leaves the result untouched, a duration that is
 * written out reads back as itself, and the two UTF-8 functions agree about where the first fault is.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNTOUCHED INT64_C(0x5a5a5a5a5a5a5a5a)

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_answer(int rc, int64_t value)
{
    must(rc == 0 || rc == -EINVAL || rc == -ERANGE);
    if (rc < 0)
        must(value == UNTOUCHED);
}

static void try_duration(const char *text, size_t len)
{
    int64_t ms = UNTOUCHED, again = UNTOUCHED;
    char buf[64];
    int rc = hx_text_parse_duration_ms(text, len, &ms);

    check_answer(rc, ms);
    if (rc < 0)
        return;
    must(ms >= 0);
    size_t length = hx_text_format_duration(ms, buf, sizeof buf);
    must(length > 0 && length < sizeof buf && strlen(buf) == length);
    must(hx_text_parse_duration_ms(buf, length, &again) == 0 && again == ms);
}

static void try_utf8(const uint8_t *data, size_t len)
{
    size_t prefix = hx_utf8_prefix(data, len);

    must(prefix <= len);
    must(hx_utf8_valid(data, len) == (prefix == len));
    must(hx_utf8_valid(data, prefix));
    for (size_t more = 1; more <= 4 && prefix + more <= len; more++)
        must(!hx_utf8_valid(data, prefix + more));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t value = UNTOUCHED;
    uint64_t number = (uint64_t)UNTOUCHED;

    if (size < 1)
        return 0;
    const char *text = (const char *)data + 1;
    size_t len = size - 1;
    switch (data[0] % 7) {
    case 0: check_answer(hx_text_parse_u64(text, len, &number), (int64_t)number); break;
    case 1: try_duration(text, len); break;
    case 2: {
        int rc = hx_text_parse_size(text, len, &value);
        check_answer(rc, value);
        must(rc < 0 || value >= 0);
        break;
    }
    case 3: {
        int rc = hx_text_parse_time_ms(text, len, &value);
        check_answer(rc, value);
        /* Years 0000 to 9999, a zone more or less. */
        must(rc < 0 || (value > INT64_C(-62200000000000) && value < INT64_C(253500000000000)));
        break;
    }
    case 4: check_answer(hx_text_parse_number_ms(text, len, false, &value), value); break;
    case 5: check_answer(hx_text_parse_number_ms(text, len, true, &value), value); break;
    default: try_utf8(data + 1, len); break;
    }
    return 0;
}
