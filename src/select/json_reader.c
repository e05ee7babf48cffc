/*
 * json_reader.c - the second pass over a JSON text: from token to token, is it the grammar, and where are the values?
 *
 *     {"a": [1, {"id": "x"}]}         tokens come from json_scan in runs of 512 bytes
 *
 * One loop, no recursion: a turn reads one member or element, then all closings behind it up to the next comma.
 * Open containers are one bit each (1 = object), 62 to a word; full words go to `levels`, so a record that is
 * nothing but brackets needs an eighth of a byte for each. What holds the document counts as an array around it.
 *
 * Selection: `node` is the tree node of the last open container that lies on some pointer, `below` counts those
 * opened since. Only where below is 0 are names compared or elements counted; everything else is just validated. A
 * node is met at most once in a record, because a second time means a name twice: invalid.
 *
 * Strings end where the scan says; a string's last byte is found from the token behind it, going back over blanks.
 *
 * The loop has no tests for the end of the text. It needs none: behind the last token w->at stands at `over`, a byte
 * that no rule accepts, and all faults end in fail(), which knows `over`; and where bytes are read without a token
 * (digits, what follows an opener) the last byte of a text in brackets stops them. Only texts that do not end in a
 * closing bracket are read with tests, `careful`.
 */
#include "select/json_reader.h"
#include "base/utf8.h"
#include "select/json_text.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* What the loop keeps in registers. */
struct walk {
    const unsigned char *at;  /* the current token; &over behind the last */
    const unsigned char *end; /* of the text */
    const unsigned char *run; /* where the run begins that the tokens count from */
    const uint16_t *token;    /* the next token of the run; NO_TOKEN behind the last */
    uint64_t kinds;           /* the innermost open containers, innermost in bit 0, behind a mark */
    uint64_t below;           /* how many of the open containers lie below the last one that is on a path */
    uint32_t node;            /* of that one */
    uint32_t hit;             /* of the value to be read; 0: none wants it */
};

#define NO_TOKEN UINT16_MAX

/* kinds begins with a mark: in the outermost word a 1 and the array that holds the document, in the others 11. */
#define NOTHING_OPEN 2u
#define WORD_EMPTY 3u

static const unsigned char over = 0;

int hx_json_reader_init(hx_json_reader *reader, const hx_pointer_tree *tree, hx_json_kernel kernel)
{
    memset(reader, 0, sizeof *reader);
    reader->tree = tree;
    reader->kernel = kernel;
    reader->stamps = calloc(tree->count, sizeof *reader->stamps);
    reader->elements = calloc(tree->count, sizeof *reader->elements);
    reader->values = calloc(tree->count, sizeof *reader->values);
    if (reader->stamps == NULL || reader->elements == NULL || reader->values == NULL) {
        hx_json_reader_free(reader);
        return -ENOMEM;
    }
    return 0;
}

void hx_json_reader_free(hx_json_reader *reader)
{
    free(reader->stamps);
    free(reader->elements);
    free(reader->values);
    free(reader->levels);
    reader->stamps = reader->elements = reader->levels = NULL;
    reader->values = NULL;
}

hx_json_value hx_json_reader_get(const hx_json_reader *reader, uint32_t node)
{
    if (reader->stamps[node] != reader->stamp)
        return (hx_json_value){.kind = HX_JSON_ABSENT};
    return reader->values[node];
}

/* Never inlined: faults are rare and must not take room in the loop. */
static __attribute__((noinline)) bool fail(hx_json_reader *reader, const unsigned char *at, const char *fault)
{
    if (at != &over) {
        reader->fault_offset = (size_t)(at - reader->data);
        reader->fault = fault;
    } else if (reader->stopped) { /* the scan met a fault, and no token behind it was looked at */
        reader->fault_offset = reader->scan_fault_offset;
        reader->fault = reader->scan_fault;
    } else {
        reader->fault_offset = reader->len;
        reader->fault = reader->scan.in_string != 0 ? "the text ends inside a string" : "the text ends too early";
    }
    return false;
}

/* ---- tokens ---- */

/* Look at what the scan found strange in a run: escapes to check, control characters inside strings. */
static void check_odd_blocks(hx_json_reader *reader, size_t blocks)
{
    hx_json_scan *scan = &reader->scan;
    for (size_t i = 0; i < blocks && !reader->stopped; i++) {
        size_t block_at = reader->base + i * HX_JSON_BLOCK;
        if (scan->control[i] != 0) {
            reader->scan_fault_offset = block_at + (size_t)__builtin_ctzll(scan->control[i]);
            reader->scan_fault = "a control character inside a string must be escaped";
            reader->stopped = true;
        }
        for (uint64_t bits = scan->escaped[i]; bits != 0; bits &= bits - 1) {
            size_t at = block_at + (size_t)__builtin_ctzll(bits);
            if (reader->stopped && at >= reader->scan_fault_offset)
                break;
            reader->escapes = true;
            const char *fault = hx_json_text_check_escape(reader->data, reader->len, at, &reader->low_surrogate_at);
            if (fault != NULL) {
                reader->scan_fault_offset = at - 1;
                reader->scan_fault = fault;
                reader->stopped = true;
            }
        }
    }
    while (reader->stopped && scan->count > 0 &&
           reader->base + scan->tokens[scan->count - 1] > reader->scan_fault_offset)
        scan->count--;
}

/* The next run that holds a token. false: there is none. */
static __attribute__((noinline)) bool next_run(hx_json_reader *reader)
{
    hx_json_scan *scan = &reader->scan;
    do {
        if (reader->stopped || reader->next_run >= reader->len) {
            scan->tokens[0] = NO_TOKEN;
            return false;
        }
        size_t base = reader->next_run, left = reader->len - base;
        reader->base = base;
        size_t whole = left / HX_JSON_BLOCK, rest = left % HX_JSON_BLOCK, blocks;
        if (whole >= HX_JSON_BLOCKS) {
            blocks = HX_JSON_BLOCKS;
            reader->kernel(scan, reader->data + base, blocks, ~(uint64_t)0);
        } else if (rest == 0 || reader->readable - base >= (whole + 1) * HX_JSON_BLOCK) {
            blocks = whole + (rest != 0);
            reader->kernel(scan, reader->data + base, blocks, rest == 0 ? ~(uint64_t)0 : ((uint64_t)1 << rest) - 1);
        } else {
            /* the last block goes over the end of what may be read: a copy, as part of a run */
            unsigned char copy[HX_JSON_BLOCKS * HX_JSON_BLOCK];
            memcpy(copy, reader->data + base, left);
            memset(copy + left, ' ', HX_JSON_BLOCK - rest);
            blocks = whole + 1;
            reader->kernel(scan, copy, blocks, ((uint64_t)1 << rest) - 1);
        }
        reader->next_run = base + blocks * HX_JSON_BLOCK;
        reader->high |= scan->high != 0;
        if (__builtin_expect(scan->odd != 0, 0))
            check_odd_blocks(reader, blocks);
    } while (scan->count == 0);
    scan->tokens[scan->count] = NO_TOKEN;
    return true;
}

/* Go to the next token in the list. */
static ALWAYS_INLINE void next_token(hx_json_reader *reader, struct walk *w)
{
    uint16_t token = *w->token;
    if (__builtin_expect(token == NO_TOKEN, 0)) {
        if (!next_run(reader)) {
            w->at = &over;
            return;
        }
        w->run = reader->data + reader->base;
        w->token = reader->scan.tokens;
        token = *w->token;
    }
    w->token++;
    w->at = w->run + token;
}

static ALWAYS_INLINE bool is_blank(unsigned char c)
{
    return __builtin_expect(c <= ' ', 0) && (c == ' ' || c == '\n' || c == '\r' || c == '\t');
}

/* From one of {[:, to what follows: that is only in the list of tokens when blanks stand between. */
static ALWAYS_INLINE void follow(hx_json_reader *reader, struct walk *w, bool careful)
{
    w->at++;
    if ((careful && w->at >= w->end) || is_blank(*w->at))
        next_token(reader, w);
}

/* ---- containers ---- */

/* kinds is full: put it away. */
static __attribute__((noinline)) bool save_kinds(hx_json_reader *reader, uint64_t kinds)
{
    if (reader->levels_len == reader->levels_cap) {
        size_t cap = reader->levels_cap == 0 ? 16 : reader->levels_cap * 2;
        uint64_t *levels = reallocarray(reader->levels, cap, sizeof *levels);
        if (levels == NULL) {
            reader->fault = NULL;
            return false;
        }
        reader->levels = levels;
        reader->levels_cap = cap;
    }
    reader->levels[reader->levels_len++] = kinds;
    return true;
}

static ALWAYS_INLINE bool push(hx_json_reader *reader, struct walk *w, bool object)
{
    if (__builtin_expect(w->kinds >> 63, 0)) {
        if (!save_kinds(reader, w->kinds))
            return false;
        w->kinds = WORD_EMPTY;
    }
    w->kinds = w->kinds << 1 | object;
    w->below++;
    if (w->hit != 0) {
        size_t start = (size_t)(w->at - reader->data);
        reader->values[w->hit] = (hx_json_value){HX_JSON_CONTAINER, start, start};
        if (reader->tree->nodes[w->hit].first_child != 0) {
            w->below = 0;
            w->node = w->hit;
            reader->elements[w->hit] = 0;
        }
    }
    return true;
}

static ALWAYS_INLINE void pop(hx_json_reader *reader, struct walk *w)
{
    if (w->below == 0)
        w->node = reader->tree->nodes[w->node].parent;
    else
        w->below--;
    w->kinds >>= 1;
    if (__builtin_expect(w->kinds == WORD_EMPTY, 0))
        w->kinds = reader->levels[--reader->levels_len];
}

/* ---- names and elements ---- */

/* Does the name text[0, len), escapes and all, say the same as the node's? */
static bool names_equal(const hx_json_reader *reader, const unsigned char *text, size_t len,
                        const hx_pointer_node *node)
{
    if (!reader->escapes || memchr(text, '\\', len) == NULL)
        return len == node->name_len && memcmp(text, node->name, len) == 0;
    return hx_json_text_equal(text, len, node->name, node->name_len);
}

/* The last quote before w->at, behind which only blanks stand: the end of a string. */
static ALWAYS_INLINE const unsigned char *string_end(const struct walk *w)
{
    const unsigned char *end = (w->at == &over ? w->end : w->at) - 1;
    while (*end != '"')
        end--;
    return end;
}

/* w->hit becomes the node below w->node that the name leads to, or 0. false: it was there before. */
static ALWAYS_INLINE bool find_member(hx_json_reader *reader, struct walk *w, const unsigned char *name)
{
    const hx_pointer_node *nodes = reader->tree->nodes;
    uint64_t prefix = 0;
    if (__builtin_expect(w->end - name >= 8, 1))
        memcpy(&prefix, name, 8);
    else
        memcpy(&prefix, name, (size_t)(w->end - name));
    for (uint32_t i = nodes[w->node].first_child; i != 0; i = nodes[i].next_sibling) {
        if ((prefix & nodes[i].prefix_mask) != nodes[i].prefix && !reader->escapes)
            continue;
        if (!names_equal(reader, name, (size_t)(string_end(w) - name), &nodes[i]))
            continue;
        if (reader->stamps[i] == reader->stamp)
            return fail(reader, name - 1, "this name, which a selector goes through, stands twice in its object");
        reader->stamps[i] = reader->stamp;
        w->hit = i;
        break;
    }
    return true;
}

/* From a member's name to its value: w->at is at the name, then at the first token of the value. */
static ALWAYS_INLINE bool read_name(hx_json_reader *reader, struct walk *w, bool careful)
{
    const unsigned char *name = w->at;
    if (__builtin_expect(*name != '"', 0))
        return fail(reader, name,
                    *name == '}' ? "a member is missing behind the comma" : "a name in double quotes is expected");
    next_token(reader, w);
    if (__builtin_expect(*w->at != ':', 0))
        return fail(reader, w->at, "a colon is expected behind the name");
    w->hit = 0;
    if (w->below == 0 && !find_member(reader, w, name + 1))
        return false;
    follow(reader, w, careful);
    return true;
}

/* Count an element of an array; w->hit is the node for it, or 0. The document itself is element 0 of node 0. */
static ALWAYS_INLINE void enter_element(hx_json_reader *reader, struct walk *w)
{
    const hx_pointer_node *nodes = reader->tree->nodes;
    w->hit = 0;
    if (w->below != 0 || !nodes[w->node].has_index)
        return;
    uint64_t index = reader->elements[w->node]++;
    for (uint32_t i = nodes[w->node].first_child; i != 0; i = nodes[i].next_sibling) {
        if (nodes[i].index == index) {
            reader->stamps[i] = reader->stamp;
            w->hit = i;
        }
    }
}

/* ---- values ---- */

static ALWAYS_INLINE bool is_digit(unsigned char c)
{
    return (unsigned char)(c - '0') < 10;
}

static ALWAYS_INLINE const unsigned char *skip_digits(const unsigned char *at, const unsigned char *end, bool careful)
{
    /* Eight bytes at once: adding 6 to the low half carries into the high half where it is above 9. */
    while (end - at >= 8) {
        uint64_t bytes = 0;
        memcpy(&bytes, at, 8);
        bytes = le64toh(bytes) ^ 0x3030303030303030u;
        uint64_t others = (bytes | (bytes + 0x0606060606060606u)) & 0xf0f0f0f0f0f0f0f0u;
        if (others != 0)
            return at + __builtin_ctzll(others) / 8;
        at += 8;
    }
    while ((!careful || at < end) && is_digit(*at))
        at++;
    return at;
}

/* The end of the number that begins at `at`, or NULL and a fault. */
static ALWAYS_INLINE const unsigned char *read_number(hx_json_reader *reader, const unsigned char *at,
                                                      const unsigned char *end, bool careful)
{
    if (*at == '-')
        at++;
    const unsigned char *digits = at;
    at = skip_digits(at, end, careful);
    if (at == digits || (*digits == '0' && at > digits + 1)) {
        fail(reader, digits, at == digits ? "a digit is expected" : "a number must not begin with 0");
        return NULL;
    }
    if ((!careful || at < end) && *at == '.') {
        digits = ++at;
        at = skip_digits(at, end, careful);
        if (at == digits) {
            fail(reader, at, "a digit is expected behind the decimal point");
            return NULL;
        }
    }
    if ((!careful || at < end) && (*at | 0x20) == 'e') {
        at++;
        if ((!careful || at < end) && (*at == '+' || *at == '-'))
            at++;
        digits = at;
        at = skip_digits(at, end, careful);
        if (at == digits) {
            fail(reader, at, "a digit is expected in the exponent");
            return NULL;
        }
    }
    return at;
}

/* true, false or null at `at`: its end, or NULL and a fault. */
static ALWAYS_INLINE const unsigned char *read_word(hx_json_reader *reader, const unsigned char *at,
                                                    const unsigned char *end)
{
    if (at != &over) {
        if (end - at >= 4 && (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0))
            return at + 4;
        if (end - at >= 5 && memcmp(at, "false", 5) == 0)
            return at + 5;
    }
    fail(reader, at, hx_json_text_describe_rubbish(*at));
    return NULL;
}

/* A number or word; its whole run must be one. */
static ALWAYS_INLINE bool read_scalar(hx_json_reader *reader, struct walk *w, bool careful)
{
    unsigned char first = *w->at;
    const unsigned char *end = first == '-' || is_digit(first) ? read_number(reader, w->at, w->end, careful)
                                                               : read_word(reader, w->at, w->end);
    if (__builtin_expect(end == NULL, 0))
        return false;
    if ((!careful || end < w->end) && __builtin_expect(!hx_json_text_ends_scalar[*end], 0))
        return fail(reader, end, "a number, true, false or null goes on with something else");
    if (w->hit != 0) {
        hx_json_kind kind = first == 'n' ? HX_JSON_NULL : HX_JSON_SCALAR;
        size_t start = (size_t)(w->at - reader->data);
        reader->values[w->hit] = (hx_json_value){kind, start, (size_t)(end - reader->data)};
    }
    next_token(reader, w);
    return true;
}

/* Read the string at w->at and go to the token behind it. */
static ALWAYS_INLINE void read_string(hx_json_reader *reader, struct walk *w)
{
    const unsigned char *start = w->at + 1;
    next_token(reader, w);
    if (w->hit != 0 && (w->at != &over || (!reader->stopped && reader->scan.in_string == 0))) {
        size_t end = (size_t)(string_end(w) - reader->data);
        reader->values[w->hit] = (hx_json_value){HX_JSON_STRING, (size_t)(start - reader->data), end};
    }
}

/* All closings from w->at on, up to a comma and what follows it, or until nothing is open. */
static ALWAYS_INLINE bool read_closings(hx_json_reader *reader, struct walk *w, bool careful)
{
    while (w->kinds != NOTHING_OPEN) {
        unsigned char c = *w->at;
        if (c == ',') {
            follow(reader, w, careful);
            break;
        }
        bool object = w->kinds & 1;
        if (__builtin_expect(c != (object ? '}' : ']'), 0))
            return fail(reader, w->at, object ? "a comma or } is expected" : "a comma or ] is expected");
        pop(reader, w);
        next_token(reader, w);
    }
    return true;
}

/* One value and its closings per turn. */
static ALWAYS_INLINE bool read_document(hx_json_reader *reader, struct walk *w, bool careful)
{
    do {
        if (w->kinds & 1) {
            if (!read_name(reader, w, careful))
                return false;
        } else {
            enter_element(reader, w);
        }
        unsigned char c = *w->at;
        if (c == '"') {
            read_string(reader, w);
        } else if ((c & 0xdf) == '[') { /* or { */
            if (!push(reader, w, c == '{'))
                return false;
            follow(reader, w, careful);
            if (*w->at != c + 2) /* } and ] stand two places behind { and [ */
                continue;
        } else if (!read_scalar(reader, w, careful)) {
            return false;
        }
        if (!read_closings(reader, w, careful))
            return false;
    } while (w->kinds != NOTHING_OPEN);
    if (w->at != &over)
        return fail(reader, w->at, "something stands behind the end of the JSON text");
    return !reader->stopped && reader->scan.in_string == 0 ? true : fail(reader, w->at, NULL);
}

static hx_json_answer check_utf8(hx_json_reader *reader, hx_json_answer answer)
{
    size_t valid = hx_utf8_prefix(reader->data, reader->len);
    if (valid == reader->len || (answer == HX_JSON_INVALID && reader->fault_offset <= valid))
        return answer;
    fail(reader, reader->data + valid, "not valid UTF-8");
    return HX_JSON_INVALID;
}

hx_json_answer hx_json_reader_read(hx_json_reader *reader, const unsigned char *data, size_t len, size_t readable)
{
    reader->data = data;
    reader->len = len;
    reader->readable = readable;
    reader->next_run = reader->base = 0;
    reader->low_surrogate_at = 0;
    reader->stopped = reader->escapes = reader->high = false;
    reader->fault = NULL;
    reader->stamp++;
    reader->elements[0] = 0;
    reader->scan.count = 0;
    reader->scan.in_string = reader->scan.escape_next = reader->scan.in_scalar = reader->scan.after_opener = 0;
    reader->levels_len = 0;
    if (!next_run(reader))
        return HX_JSON_BLANK;
    struct walk w = {
        .end = data + len,
        .run = data + reader->base,
        .token = reader->scan.tokens,
        .kinds = NOTHING_OPEN,
    };
    next_token(reader, &w);
    bool closed = data[len - 1] == '}' || data[len - 1] == ']';
    hx_json_answer answer = HX_JSON_OK;
    if (!(closed ? read_document(reader, &w, false) : read_document(reader, &w, true))) {
        if (reader->fault == NULL)
            return HX_JSON_NO_MEMORY;
        answer = HX_JSON_INVALID;
    }
    return reader->high ? check_utf8(reader, answer) : answer;
}
