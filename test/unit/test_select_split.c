/*
 * test_select_split.c - where records end: lines, CR LF, NUL, quotes, byte order marks; in one piece, byte by byte
 * and in random pieces; records that are longer than the caller wants to hold.
 */
#include "select_help.h"

#include "select/split.h"

static hx_split begin(bool quotes, bool nul)
{
    hx_split split;
    hx_split_init(&split, &(hx_split_options){.quotes = quotes, .nul = nul, .delimiter = ',', .bom = true});
    return split;
}

/* All records of data, which ends there. */
static size_t split_all(hx_split *split, const unsigned char *data, size_t len, hx_split_record *records)
{
    size_t consumed;
    size_t count = hx_split_next(split, data, len, true, records, RUN_MAX, &consumed);
    assert_int_equal(consumed, len);
    return count;
}

/* What one record should be. */
struct want {
    const char *content;
    unsigned end_len;
    uint64_t line, lines;
    const char *fault;
    uint64_t fault_line, fault_column;
};

static void check(const char *text, bool quotes, bool nul, size_t text_len, const struct want *want, size_t count)
{
    guarded g = guard(text, text_len);
    hx_split split = begin(quotes, nul);
    hx_split_record records[RUN_MAX];
    assert_int_equal(split_all(&split, g.data, text_len, records), count);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(records[i].offset, at);
        assert_int_equal(records[i].len, strlen(want[i].content));
        assert_memory_equal(g.data + at, want[i].content, records[i].len);
        assert_int_equal(records[i].end_len, want[i].end_len);
        assert_int_equal(records[i].line, want[i].line);
        assert_int_equal(records[i].lines, want[i].lines);
        assert_int_equal(records[i].taken, 0);
        if (want[i].fault == NULL) {
            assert_null(records[i].fault);
        } else {
            assert_non_null(records[i].fault);
            assert_non_null(strstr(records[i].fault, want[i].fault));
        }
        assert_int_equal(records[i].fault_line, want[i].fault_line);
        assert_int_equal(records[i].fault_column, want[i].fault_column);
        at += records[i].len + records[i].end_len;
    }
    assert_int_equal(at, text_len);
    unguard(&g);
}

#define GOOD(content, end_len, line, lines)                                                                          \
    {                                                                                                                \
        content, end_len, line, lines, NULL, 0, 0                                                                    \
    }

#define CHECK(text, quotes, nul, ...)                                                                                \
    check(text, quotes, nul, sizeof(text) - 1, (const struct want[]){__VA_ARGS__},                                   \
          sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want))

static void test_lines(void **state)
{
    (void)state;
    CHECK("a\nb\n", false, false, GOOD("a", 1, 1, 1), GOOD("b", 1, 2, 1));
    CHECK("a\nb", false, false, GOOD("a", 1, 1, 1), GOOD("b", 0, 2, 1));
    CHECK("a\r\nb\r\n", false, false, GOOD("a", 2, 1, 1), GOOD("b", 2, 2, 1));
    CHECK("\n\r\n", false, false, GOOD("", 1, 1, 1), GOOD("", 2, 2, 1));
    CHECK("a\rb\n", false, false, GOOD("a\rb", 1, 1, 1));
    CHECK("a\r\r\n", false, false, GOOD("a\r", 2, 1, 1));
    CHECK("a\n\r", false, false, GOOD("a", 1, 1, 1), GOOD("\r", 0, 2, 1));
    CHECK("\"a\nb\"\n", false, false, GOOD("\"a", 1, 1, 1), GOOD("b\"", 1, 2, 1));
}

static void test_empty_input_has_no_record(void **state)
{
    (void)state;
    for (int quotes = 0; quotes < 2; quotes++) {
        hx_split split = begin(quotes, false);
        hx_split_record record;
        size_t consumed = 7;
        assert_int_equal(hx_split_next(&split, (const unsigned char *)"", 0, true, &record, 1, &consumed), 0);
        assert_int_equal(consumed, 0);
    }
}

static void test_nul_ends(void **state)
{
    (void)state;
    CHECK("a\nb\0c\r\0", false, true, GOOD("a\nb", 1, 1, 1), GOOD("c\r", 1, 2, 1));
    CHECK("\"a\nb\",\"c\nd", true, true, {"\"a\nb\",\"c\nd", 0, 1, 1, "never closed", 1, 7});
    CHECK("\"a\"\0b\0", true, true, GOOD("\"a\"", 1, 1, 1), GOOD("b", 1, 2, 1));
}

static void test_csv(void **state)
{
    (void)state;
    CHECK("a,b\r\nc,d\n", true, false, GOOD("a,b", 2, 1, 1), GOOD("c,d", 1, 2, 1));
    CHECK("\"a\nb\",c\nd\n", true, false, GOOD("\"a\nb\",c", 1, 1, 2), GOOD("d", 1, 3, 1));
    CHECK("\"a\r\n\r\nb\"\r\nd", true, false, GOOD("\"a\r\n\r\nb\"", 2, 1, 3), GOOD("d", 0, 4, 1));
    CHECK("\"a\"\"\n\"\"\",\"\"\nx\n", true, false, GOOD("\"a\"\"\n\"\"\",\"\"", 1, 1, 2), GOOD("x", 1, 3, 1));
    /* a quote in the middle of a field is content */
    CHECK("a\"\nb\"c\"\n", true, false, GOOD("a\"", 1, 1, 1), GOOD("b\"c\"", 1, 2, 1));
    CHECK("5\" pipe,x\n", true, false, GOOD("5\" pipe,x", 1, 1, 1));
    CHECK("\"\"", true, false, GOOD("\"\"", 0, 1, 1));
    CHECK("\n\n", true, false, GOOD("", 1, 1, 1), GOOD("", 1, 2, 1));
}

static void test_csv_text_behind_a_quote(void **state)
{
    (void)state;
    CHECK("\"a\"b,c\nd\n", true, false, {"\"a\"b,c", 1, 1, 1, "text stands", 1, 4}, GOOD("d", 1, 2, 1));
    CHECK("x,\"a\nb\" ,\"c\n\"\nd\n", true, false, {"x,\"a\nb\" ,\"c\n\"", 1, 1, 3, "text stands", 2, 3},
          GOOD("d", 1, 4, 1));
    /* after the fault a quote in the same field opens nothing, so the line end is one */
    CHECK("\"a\" \"\nb\n", true, false, {"\"a\" \"", 1, 1, 1, "text stands", 1, 4}, GOOD("b", 1, 2, 1));
    CHECK("\"a\"\rb\n", true, false, {"\"a\"\rb", 1, 1, 1, "text stands", 1, 4});
    CHECK("\"a\"\r", true, false, {"\"a\"\r", 0, 1, 1, "text stands", 1, 4});
}

static void test_csv_unclosed_quote(void **state)
{
    (void)state;
    CHECK("a,b\nc,\"d\ne\nf,g\n", true, false, GOOD("a,b", 1, 1, 1),
          {"c,\"d\ne\nf,g\n", 0, 2, 3, "never closed", 2, 3});
    CHECK("\"\n", true, false, {"\"\n", 0, 1, 1, "never closed", 1, 1});
    CHECK("x\n\"a\n\",\"b\n", true, false, GOOD("x", 1, 1, 1), {"\"a\n\",\"b\n", 0, 2, 2, "never closed", 3, 3});
}

static void test_bom(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf\"a\nb\"\n\xef\xbb\xbf\"c\n";
    hx_split split = begin(true, false);
    hx_split_record records[RUN_MAX];
    assert_int_equal(split_all(&split, (const unsigned char *)text, sizeof text - 1, records), 2);
    assert_int_equal(records[0].bom_len, 3);
    assert_int_equal(records[0].len, 8);
    assert_int_equal(records[0].lines, 2);
    /* further on it is content, and so the quote behind it does not begin the field */
    assert_int_equal(records[1].bom_len, 0);
    assert_int_equal(records[1].len, 5);
    assert_null(records[1].fault);
    split = begin(false, false);
    assert_int_equal(split_all(&split, (const unsigned char *)"\xef\xbb", 2, records), 1);
    assert_int_equal(records[0].bom_len, 0);
    split = begin(false, false);
    split.bom = false;
    assert_int_equal(split_all(&split, (const unsigned char *)text, 3, records), 1);
    assert_int_equal(records[0].bom_len, 0);
}

/* The caller asks for fewer records than there are. */
static void test_few_at_a_time(void **state)
{
    (void)state;
    const unsigned char *data = (const unsigned char *)"a\nbb\nccc\n";
    size_t len = 9, total = 0, consumed;
    hx_split split = begin(false, false);
    hx_split_record record;
    while (hx_split_next(&split, data, len, true, &record, 1, &consumed) == 1) {
        total++;
        assert_int_equal(record.offset, 0);
        assert_int_equal(record.line, total);
        assert_int_equal(record.len, total);
        data += consumed;
        len -= consumed;
    }
    assert_int_equal(total, 3);
    assert_int_equal(len, 0);
}

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static bool same_record(const hx_split_record *a, const hx_split_record *b)
{
    return a->len + a->taken == b->len && a->line == b->line && a->lines == b->lines && a->end_len == b->end_len &&
           a->fault == b->fault && a->fault_line == b->fault_line && a->fault_column == b->fault_column;
}

/* The input comes in pieces of 1 to `step` bytes; what was consumed is gone, and sometimes the rest is taken too. */
static void split_in_pieces(const unsigned char *data, size_t len, bool quotes, bool nul, size_t step, bool take,
                            uint64_t *seed, const hx_split_record *want, size_t want_count)
{
    hx_split split = begin(quotes, nul);
    size_t from = 0, to = 0, count = 0;
    for (;;) {
        bool ended = to == len;
        hx_split_record got[4];
        size_t consumed, found;
        do {
            /* a copy that ends where the data ends, so that a look ahead would be seen */
            guarded g = guard(data + from, to - from);
            found = hx_split_next(&split, g.data, to - from, ended, got, 4, &consumed);
            unguard(&g);
            for (size_t i = 0; i < found; i++) {
                assert_true(count < want_count);
                assert_true(same_record(&got[i], &want[count]));
                assert_int_equal(got[i].bom_len, got[i].taken > 0 ? 0 : want[count].bom_len);
                count++;
            }
            from += consumed;
        } while (found == 4);
        if (ended)
            break;
        if (take && random_next(seed) % 3 == 0)
            from += hx_split_take(&split);
        to += 1 + random_next(seed) % step;
        if (to > len)
            to = len;
    }
    assert_int_equal(from, len);
    assert_int_equal(count, want_count);
}

static void test_pieces(void **state)
{
    (void)state;
    static const char alphabet[] = "a\"\",\n\n\r\r\n\"b\0\xef\xbb\xbf";
    uint64_t seed = 20160903;
    for (int round = 0; round < 3000; round++) {
        unsigned char data[120];
        size_t len = random_next(&seed) % sizeof data;
        for (size_t i = 0; i < len; i++)
            data[i] = (unsigned char)alphabet[random_next(&seed) % (sizeof alphabet - 1)];
        bool quotes = round & 1, nul = round % 5 == 0;
        hx_split_record want[RUN_MAX];
        hx_split split = begin(quotes, nul);
        size_t count = split_all(&split, data, len, want);
        size_t bytes = 0;
        for (size_t i = 0; i < count; i++)
            bytes += want[i].len + want[i].end_len;
        assert_int_equal(bytes, len);
        split_in_pieces(data, len, quotes, nul, round % 7 == 0 ? 1 : 9, false, &seed, want, count);
        split_in_pieces(data, len, quotes, nul, 5, true, &seed, want, count);
    }
}

/* What was scanned is not scanned again: a record that comes in many pieces costs no more than its length. */
static void test_scanned_once(void **state)
{
    (void)state;
    enum { LEN = 8 << 20, STEP = 4096 };
    unsigned char *data = malloc(LEN);
    assert_non_null(data);
    memset(data, 'x', LEN);
    data[0] = '"';
    for (int quotes = 0; quotes < 2; quotes++) {
        hx_split split = begin(quotes, false);
        hx_split_record record;
        size_t consumed;
        for (size_t len = 0; len < LEN; len += STEP) {
            assert_int_equal(hx_split_next(&split, data, len, false, &record, 1, &consumed), 0);
            assert_int_equal(consumed, 0);
            assert_int_equal(split.scanned, len);
        }
        assert_int_equal(hx_split_next(&split, data, LEN, true, &record, 1, &consumed), 1);
        assert_int_equal(record.len, LEN);
    }
    free(data);
}

static void test_take_and_open_quote(void **state)
{
    (void)state;
    hx_split split = begin(true, false);
    hx_split_record record;
    size_t consumed;
    uint64_t line = 0, column = 0;
    const unsigned char *data = (const unsigned char *)"a\nb,\"ccc\nddd";
    assert_int_equal(hx_split_next(&split, data, 12, false, &record, 1, &consumed), 1);
    assert_false(hx_split_open_quote(&split, &line, &column));
    data += consumed;
    assert_int_equal(hx_split_next(&split, data, 10, false, &record, 1, &consumed), 0);
    assert_true(hx_split_open_quote(&split, &line, &column));
    assert_int_equal(line, 2);
    assert_int_equal(column, 3);
    size_t taken = hx_split_take(&split);
    assert_int_equal(taken, 9);
    assert_int_equal(hx_split_next(&split, (const unsigned char *)"d\"\r\n", 4, true, &record, 1, &consumed), 1);
    assert_int_equal(consumed, 4);
    assert_int_equal(record.taken, 9);
    assert_int_equal(record.len, 2);
    assert_int_equal(record.end_len, 2);
    assert_int_equal(record.lines, 2);
    assert_null(record.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_empty_input_has_no_record),
        cmocka_unit_test(test_nul_ends),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_text_behind_a_quote),
        cmocka_unit_test(test_csv_unclosed_quote),
        cmocka_unit_test(test_bom),
        cmocka_unit_test(test_few_at_a_time),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_scanned_once),
        cmocka_unit_test(test_take_and_open_quote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
