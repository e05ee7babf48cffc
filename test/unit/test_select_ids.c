/*
 * test_select_ids.c - what the id, the source and the time of a record are, in each format: the rules of select.h and
 * of the paragraph Identity of the command line's contract.
 */
#include "select_help.h"

/* One NDJSON record under --id POINTER. */
#define JSON_ID(pointer, record, want)                                                                               \
    do {                                                                                                             \
        run r;                                                                                                       \
        const char *const ids[] = {pointer};                                                                         \
        run_text(&r, &(hx_select_options){.ids = ids, .id_count = 1}, record "\n");                                  \
        assert_int_equal(r.count, 1);                                                                                \
        assert_id(&r, 0, want);                                                                                      \
        run_end(&r);                                                                                                 \
    } while (0)

#define JSON_INVALID(pointer, record, column, words)                                                                 \
    do {                                                                                                             \
        run r;                                                                                                       \
        const char *const ids[] = {pointer};                                                                         \
        run_text(&r, &(hx_select_options){.ids = ids, .id_count = 1}, record "\n");                                  \
        assert_int_equal(r.count, 1);                                                                                \
        assert_invalid(&r, 0, 1, column, words);                                                                     \
        run_end(&r);                                                                                                 \
    } while (0)

static void test_json_values(void **state)
{
    (void)state;
    JSON_ID("/id", "{\"id\":\"x\"}", "x");
    JSON_ID("/id", "{\"id\":1}", "1");
    JSON_ID("/id", "{\"id\":\"1\"}", "1");
    JSON_ID("/id", "{\"id\":1.0}", "1.0");
    JSON_ID("/id", "{\"id\":-1e5}", "-1e5");
    JSON_ID("/id", "{\"id\":true}", "true");
    JSON_ID("/id", "{\"id\" : false }", "false");
    JSON_ID("/id", "{\"id\":null}", NULL);
    JSON_ID("/id", "{\"id\":\"null\"}", "null");
    JSON_ID("/id", "{\"id\":\"\"}", NULL);
    JSON_ID("/id", "{\"no\":1}", NULL);
    JSON_ID("/id", "{}", NULL);
    JSON_ID("/id", "[]", NULL);
    JSON_ID("/id", "7", NULL);
    JSON_ID("/id", "{\"a\":{\"id\":1}}", NULL);
    JSON_ID("/id", "{\"a\":[{\"id\":1}],\"id\":2,\"b\":{\"id\":3}}", "2");
    JSON_ID("/id", " { \"id\" \t:\t\"a b\" } ", "a b");
    JSON_ID("/id", "{\"id\":\"\\u0041\\n\\\"\\/\"}", "A\n\"/");
    JSON_ID("/id", "{\"id\":\"\\ud83d\\ude00\"}", "\xf0\x9f\x98\x80");
    JSON_ID("/id", "{\"id\":\"\xf0\x9f\x98\x80\"}", "\xf0\x9f\x98\x80");
    JSON_INVALID("/id", "{\"id\":{}}", 7, "object or array");
    JSON_INVALID("/id", "{\"id\":[1]}", 7, "object or array");
    JSON_INVALID("/id", "{\"id\":1", 8, "too early");
    JSON_INVALID("/id", "{\"id\":1}}", 9, "behind the end");
    JSON_INVALID("/id", "{\"id\":\"\\ud800\"}", 8, "half a character");
    JSON_INVALID("/id", "{\"id\":1,\"x\":\"\\udc00\"}", 14, "half a character");
    JSON_INVALID("/id", "{\"id\":1,\"x\":\"\xff\"}", 14, "UTF-8");
    run r;
    run_begin(&r, &(hx_select_options){0}, "{\"id\":\"a\\u0000b\"}\n{\"id\":\"a\0b\"}", 31);
    assert_int_equal(r.count, 2);
    assert_int_equal(r.got[0].id_len, 3);
    assert_memory_equal(r.got[0].id, "a\0b", 3);
    assert_invalid(&r, 1, 2, 9, "control character");
    run_end(&r);
}

static void test_json_pointers(void **state)
{
    (void)state;
    JSON_ID("", "\"x\"", "x");
    JSON_ID("", " 12 ", "12");
    JSON_ID("", "\"a\\tb\" ", "a\tb");
    JSON_ID("", "null", NULL);
    JSON_INVALID("", "{}", 1, "object or array");
    JSON_INVALID("", "  []", 3, "object or array");
    JSON_ID("/", "{\"\":1}", "1");
    JSON_ID("//", "{\"\":{\"\":2}}", "2");
    JSON_ID("/a/b", "{\"a\":{\"b\":3}}", "3");
    JSON_ID("/a/b", "{\"a\":3}", NULL);
    JSON_ID("/a/b", "{\"a\":[3]}", NULL);
    JSON_ID("/a~1b", "{\"a/b\":1}", "1");
    JSON_ID("/m~0n", "{\"m~n\":1}", "1");
    JSON_ID("/~01", "{\"~1\":1}", "1");
    JSON_ID("/ ", "{\" \":1}", "1");
    JSON_ID("/a\"b", "{\"a\\\"b\":1}", "1");
    JSON_ID("/a\"b", "{\"a\":\"b\",\"c\":2}", NULL);
    JSON_ID("/i\\j", "{\"i\\\\j\":5}", "5");
    JSON_ID("/\xc3\xa9", "{\"\\u00e9\":1}", "1");
    JSON_ID("/\xc3\xa9", "{\"\xc3\xa9\":1}", "1");
    JSON_ID("/id", "{\"\\u0069d\":1}", "1");
    JSON_ID("/id", "{\"i\\u0064\":\"x\"}", "x");
    JSON_ID("/id", "{\"\\u0069dx\":1}", NULL);
    JSON_ID("/id", "{\"x\\u0069d\":1,\"ID\":2,\"i\":3,\"idd\":4}", NULL);
    JSON_ID("/a-long-name-indeed", "{\"a-long-name-in\":1,\"a-long-name-indeed\":2,\"a-long-name-indeeD\":3}", "2");
    JSON_ID("/12345678", "{\"12345678\":1,\"123456789\":2,\"1234567\":3}", "1");
    JSON_ID("/1234567", "{\"12345678\":1,\"123456789\":2,\"1234567\":3}", "3");
    JSON_ID("/0", "[5,6]", "5");
    JSON_ID("/1", "[5,6]", "6");
    JSON_ID("/2", "[5,6]", NULL);
    JSON_INVALID("/1", "[[1,2],[3],{\"1\":4}]", 8, "object or array");
}

static void test_json_array_places(void **state)
{
    (void)state;
    JSON_ID("/01", "[5,6]", NULL);
    JSON_ID("/-", "[5,6]", NULL);
    JSON_ID("/+1", "[5,6]", NULL);
    JSON_ID("/1", "{\"1\":7}", "7");
    JSON_ID("/01", "{\"01\":7}", "7");
    JSON_ID("/a/1/b", "{\"a\":[0,{\"b\":9}]}", "9");
    JSON_ID("/a/1/b", "{\"a\":[{\"b\":1},{\"c\":[{\"b\":2}],\"b\":3},{\"b\":4}]}", "3");
    JSON_ID("/a/1/b", "{\"a\":[[\"x\",{\"b\":1}],{\"b\":2}]}", "2");
    JSON_ID("/18446744073709551616", "[5,6]", NULL);
    JSON_ID("/1/0", "[[1],[2]]", "2");
    JSON_ID("/0/0/0", "[[[8]]]", "8");
    JSON_INVALID("/1", "[[1,2],[3]]", 8, "object or array");
}

static void test_json_names_twice(void **state)
{
    (void)state;
    JSON_INVALID("/id", "{\"id\":1,\"id\":1}", 9, "twice");
    JSON_INVALID("/id", "{\"id\":1,\"\\u0069d\":1}", 9, "twice");
    JSON_INVALID("/id", "{\"\\u0069d\":1,\"id\":1}", 14, "twice");
    JSON_INVALID("/id", "{\"id\":null,\"id\":1}", 12, "twice");
    JSON_INVALID("/a/b", "{\"a\":{\"b\":1},\"a\":{}}", 14, "twice");
    JSON_INVALID("/a/b", "{\"a\":{\"b\":1,\"b\":2}}", 13, "twice");
    JSON_INVALID("/a/b", "{\"a\":1,\"a\":2}", 8, "twice");
    /* a name off the path may come as often as it likes */
    JSON_ID("/id", "{\"x\":1,\"x\":2,\"id\":3}", "3");
    JSON_ID("/a/b", "{\"a\":{\"x\":1,\"x\":2,\"b\":3,\"a\":4},\"b\":5}", "3");
    JSON_ID("/id", "{\"id\":1,\"o\":{\"id\":2,\"id\":3}}", "1");
    JSON_ID("/0/a", "[{\"a\":1},{\"a\":2},{\"a\":3}]", "1");
}

static void test_json_several_selectors(void **state)
{
    (void)state;
    run r;
    const char *const ids[] = {"/o/id", "/n"};
    run_text(&r, &(hx_select_options){.ids = ids, .id_count = 2, .source = "/o/src", .time = "/t"},
             "{\"t\":12,\"o\":{\"src\":\"s\\u0031\",\"id\":\"a\"},\"n\":7}\n"
             "{\"o\":{\"id\":\"a\"},\"t\":\"1970-01-01 00:00:01\"}\n"
             "{\"n\":5,\"t\":0,\"o\":null}\n"
             "{\"t\":0}\n"
             "{\"t\":0,\"o\":{\"src\":{}},\"n\":1}\n");
    assert_int_equal(r.count, 5);
    assert_id(&r, 0, "1:a:7");
    assert_int_equal(r.got[0].time_ms, 12);
    assert_int_equal(r.got[0].source_len, 2);
    assert_memory_equal(r.got[0].source, "s1", 2);
    assert_id(&r, 1, "1:a:");
    assert_int_equal(r.got[1].time_ms, 1000);
    assert_int_equal(r.got[1].source_len, 0);
    assert_id(&r, 2, "0::5");
    assert_id(&r, 3, NULL);
    assert_int_equal(r.got[3].time_ms, 0);
    assert_invalid(&r, 4, 5, 19, "the source is an object or array");
    run_end(&r);
    /* one place for two purposes, and one inside the other */
    const char *const same[] = {"/a"};
    run_text(&r, &(hx_select_options){.ids = same, .id_count = 1, .source = "/a", .time = "/a"}, "{\"a\":5}\n");
    assert_id(&r, 0, "5");
    assert_int_equal(r.got[0].time_ms, 5);
    assert_int_equal(r.got[0].source_len, 1);
    run_end(&r);
    run_text(&r, &(hx_select_options){.ids = same, .id_count = 1, .source = "/a/b"},
             "{\"a\":5}\n{\"a\":{\"b\":1}}\n");
    assert_id(&r, 0, "5");
    assert_invalid(&r, 1, 2, 6, "the id is an object");
    run_end(&r);
}

static void test_json_blank_and_bom(void **state)
{
    (void)state;
    run r;
    run_text(&r, &(hx_select_options){.time = "/t"},
             "\xef\xbb\xbf{\"id\":1,\"t\":1}\n\n \t\r\n\xef\xbb\xbf{\"id\":1,\"t\":1}\n");
    assert_int_equal(r.count, 4);
    assert_id(&r, 0, "1");
    assert_id(&r, 1, NULL);
    assert_id(&r, 2, NULL);
    assert_int_equal(r.got[1].time_ms, 0);
    assert_int_equal(r.got[2].time_ms, 0);
    assert_invalid(&r, 3, 4, 1, "byte order mark");
    run_end(&r);
    run_text(&r, &(hx_select_options){0}, "\xef\xbb\xbf{\"id\":1,}\n");
    assert_invalid(&r, 0, 1, 12, "member is missing");
    run_end(&r);
    /* with -z a record may have many lines */
    run_begin(&r, &(hx_select_options){.nul = true}, "{\n \"id\": 1\r\n}\0\n\0", 16);
    assert_int_equal(r.count, 2);
    assert_id(&r, 0, "1");
    assert_id(&r, 1, NULL);
    run_end(&r);
}

/* Ids of 4,096 bytes are taken, of 4,097 not; sources of 1,024 and 1,025. */
static void test_lengths(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        char record[6000];
        run r;
        int len = snprintf(record, sizeof record, "{\"source\":\"%0*d\",\"id\":\"%0*d\"}\n", 1024, 0, 4096 + over, 0);
        run_begin(&r, &(hx_select_options){.source = "/source"}, record, (size_t)len);
        if (over) {
            assert_invalid(&r, 0, 1, 1044, "4097 bytes");
        } else {
            assert_int_equal(r.got[0].status, HX_SELECT_OK);
            assert_int_equal(r.got[0].id_len, 4096);
            assert_int_equal(r.got[0].source_len, 1024);
        }
        run_end(&r);
        len = snprintf(record, sizeof record, "{\"source\":\"%0*d\",\"id\":7}\n", 1024 + over, 0);
        run_begin(&r, &(hx_select_options){.source = "/source"}, record, (size_t)len);
        if (over)
            assert_invalid(&r, 0, 1, 12, "the source has 1025 bytes");
        else
            assert_id(&r, 0, "7");
        run_end(&r);
        len = snprintf(record, sizeof record, "%0*d\n", 4096 + over, 0);
        run_begin(&r, &(hx_select_options){.format = HX_SELECT_LINES}, record, (size_t)len);
        if (over)
            assert_invalid(&r, 0, 1, 1, "the id has 4097 bytes");
        else
            assert_int_equal(r.got[0].id_len, 4096);
        run_end(&r);
        /* joined: "2:ab" and ":" and the rest */
        const char *const ids[] = {"1", "2"};
        len = snprintf(record, sizeof record, "ab,%0*d\n", 4091 + over, 0);
        run_begin(&r, &(hx_select_options){.format = HX_SELECT_LINES, .ids = ids, .id_count = 2, .delimiter = ","},
                  record, (size_t)len);
        if (over)
            assert_invalid(&r, 0, 1, 1, "4097 bytes");
        else
            assert_int_equal(r.got[0].id_len, 4096);
        run_end(&r);
    }
}

static void test_composite(void **state)
{
    (void)state;
    run r;
    const char *const ids[] = {"1", "2", "3"};
    hx_select_options o = {.format = HX_SELECT_CSV, .ids = ids, .id_count = 3, .no_header = true};
    run_text(&r, &o, "ab,c,d\na,bc,d\na,b\n,,x\n,,\n\n\"a\",\"\",\"1:\"\na\n1234567890,,\n,\"a,b\",c\n");
    assert_int_equal(r.count, 10);
    assert_id(&r, 0, "2:ab1:c:d");
    assert_id(&r, 1, "1:a2:bc:d");
    assert_id(&r, 2, "1:a1:b:");
    assert_id(&r, 3, "0:0::x");
    assert_id(&r, 4, NULL);
    assert_id(&r, 5, NULL);
    assert_id(&r, 6, "1:a0::1:");
    assert_id(&r, 7, "1:a0::");
    assert_id(&r, 8, "10:12345678900::");
    assert_id(&r, 9, "0:3:a,b:c");
    run_end(&r);
}

/* No two lists of parts give the same id: all lists of up to three parts over a small alphabet, made of joints. */
static void test_composite_is_unique(void **state)
{
    (void)state;
    static const char *const parts[] = {"", ":", "1", "1:", ":1", "0:", "2:a", "a", "1:a", "0::", "11"};
    enum { PARTS = sizeof parts / sizeof parts[0], MAX = PARTS * PARTS + PARTS * PARTS * PARTS };
    static char seen[MAX][64];
    size_t count = 0;
    for (size_t n = 2; n <= 3; n++) {
        for (size_t i = 0; i < PARTS * PARTS * (n == 3 ? PARTS : 1); i++) {
            char record[64];
            if (n == 2)
                snprintf(record, sizeof record, "%s,%s", parts[i % PARTS], parts[i / PARTS]);
            else
                snprintf(record, sizeof record, "%s,%s,%s", parts[i % PARTS], parts[i / PARTS % PARTS],
                         parts[i / PARTS / PARTS]);
            run r;
            const char *const ids[] = {"1", "2", "3"};
            run_text(&r, &(hx_select_options){.format = HX_SELECT_LINES, .ids = ids, .id_count = n, .delimiter = ","},
                     record);
            assert_int_equal(r.got[0].status, HX_SELECT_OK);
            if (r.got[0].id_len > 0)
                snprintf(seen[count++], sizeof seen[0], "%.*s", (int)r.got[0].id_len, (const char *)r.got[0].id);
            run_end(&r);
        }
    }
    assert_int_equal(count, MAX - 2); /* but for the lists of empty parts */
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(seen[i], seen[j]);
    }
}

static void test_lines(void **state)
{
    (void)state;
    run r;
    run_begin(&r, &(hx_select_options){.format = HX_SELECT_LINES}, "a b\r\n\n\xff\0x\n\xef\xbb\xbfy\r", 15);
    assert_int_equal(r.count, 4);
    assert_id(&r, 0, "a b");
    assert_id(&r, 1, NULL);
    assert_int_equal(r.got[2].id_len, 3);
    assert_memory_equal(r.got[2].id, "\xff\0x", 3);
    assert_id(&r, 3, "\xef\xbb\xbfy\r");
    run_end(&r);
    const char *const ids[] = {"2"};
    run_text(
        &r,
        &(hx_select_options){
            .format = HX_SELECT_LINES, .ids = ids, .id_count = 1, .delimiter = "\\t", .source = "1", .time = "4"},
        "s\tid\t\t5\ns\t\t\t6\n\tid\"\t\"\t7\ns\tid\n");
    assert_int_equal(r.count, 4);
    assert_id(&r, 0, "id");
    assert_int_equal(r.got[0].time_ms, 5);
    assert_int_equal(r.got[0].source_len, 1);
    assert_id(&r, 1, NULL);
    assert_id(&r, 2, "id\"");
    assert_int_equal(r.got[2].source_len, 0);
    assert_invalid(&r, 3, 4, 0, "the time is missing");
    run_end(&r);
}

static void test_pattern(void **state)
{
    (void)state;
    run r;
    hx_select_options o = {.format = HX_SELECT_LINES, .id_pattern = "id=([0-9]*)"};
    run_text(&r, &o, "x id=12 id=13\nid=\nno\nid=7\xff\n");
    assert_id(&r, 0, "12");
    assert_id(&r, 1, NULL);
    assert_id(&r, 2, NULL);
    assert_id(&r, 3, "7");
    run_end(&r);
    o.id_pattern = "[0-9]+";
    run_text(&r, &o, "a 12 b\n");
    assert_id(&r, 0, "12");
    run_end(&r);
    o.id_pattern = "(?:a(x)|b(y))";
    run_text(&r, &o, "ax\nby\n");
    assert_id(&r, 0, "x");
    assert_id(&r, 1, NULL);
    run_end(&r);
    o.id_pattern = "a\\Kb";
    run_text(&r, &o, "ab\n");
    assert_id(&r, 0, "b");
    run_end(&r);
    o.id_pattern =
        "[\xc3\xa4\xc3\xb6]+"; /* characters, not bytes; bytes that are no UTF-8 are in the way of nothing */
    run_text(&r, &o, "\xff\xc3\xb6\xc3\xa4\xc3\n");
    assert_id(&r, 0, "\xc3\xb6\xc3\xa4");
    run_end(&r);
    o.id_pattern = "(*UTF)x";
    run_text(&r, &o, "x\n\xff x\n");
    assert_id(&r, 0, "x");
    assert_invalid(&r, 1, 2, 0, "UTF-8");
    run_end(&r);
    /* the pattern and fields go together */
    o = (hx_select_options){.format = HX_SELECT_LINES, .id_pattern = "n=(.)", .source = "1", .delimiter = " "};
    run_text(&r, &o, "src n=5\n");
    assert_id(&r, 0, "5");
    assert_int_equal(r.got[0].source_len, 3);
    run_end(&r);
}

/* A line made to need exponential time is given up and reported, in bounded time. */
static void test_pattern_cannot_hang(void **state)
{
    (void)state;
    run r;
    char line[100];
    memset(line, 'a', 80);
    memcpy(line + 80, "!\nab\n", 6);
    hx_select_options o = {.format = HX_SELECT_LINES, .id_pattern = "^((a+)+)$|^(ab)"};
    alarm(20);
    run_text(&r, &o, line);
    assert_int_equal(r.count, 2);
    assert_invalid(&r, 0, 1, 0, "too long");
    assert_int_equal(r.got[1].status, HX_SELECT_OK);
    run_end(&r);
    o.id_pattern = "(?:.|b)*(?:x|y)+z";
    char *longer = malloc(200000);
    assert_non_null(longer);
    memset(longer, 'x', 200000);
    run_begin(&r, &o, longer, 200000);
    assert_true(r.got[0].status == HX_SELECT_INVALID || r.got[0].id_len == 0);
    run_end(&r);
    free(longer);
    alarm(0);
}

static void test_csv(void **state)
{
    (void)state;
    run r;
    run_text(&r, &(hx_select_options){.format = HX_SELECT_CSV, .source = "name", .time = "at"},
             "\xef\xbb\xbfid,name,at\r\n7,\"a,b\",5\r\n\"say \"\"hi\"\"\",x,6\r\n\"line\r\nend\",\"\",7,more,\"and "
             "more\"\r\n8,y\n"
             "9,\"z,1970-01-01T00:00:00.009Z\n");
    assert_int_equal(r.count, 5);
    assert_id(&r, 0, "7");
    assert_int_equal(r.got[0].source_len, 3);
    assert_memory_equal(r.got[0].source, "a,b", 3);
    assert_int_equal(r.got[0].time_ms, 5);
    assert_id(&r, 1, "say \"hi\"");
    assert_id(&r, 2, "line\r\nend");
    assert_invalid(&r, 3, 6, 0, "the time is missing");
    assert_invalid(&r, 4, 7, 3, "never closed");
    run_end(&r);
    run_text(&r, &(hx_select_options){.format = HX_SELECT_TSV}, "a\tb\n\"x\ty\"\tz\n\tz\n\n");
    assert_int_equal(r.count, 3);
    assert_id(&r, 0, "x\ty");
    assert_id(&r, 1, NULL);
    assert_id(&r, 2, NULL);
    run_end(&r);
    const char *const ids[] = {"2"};
    run_text(
        &r,
        &(hx_select_options){.format = HX_SELECT_CSV, .ids = ids, .id_count = 1, .delimiter = ";", .no_header = true},
        "a;b,c\n;\"\"\"\"\nonly\n\xff;\xfe\n\"a\"b;c\n");
    assert_int_equal(r.count, 5);
    assert_id(&r, 0, "b,c");
    assert_id(&r, 1, "\"");
    assert_id(&r, 2, NULL);
    assert_id(&r, 3, "\xfe");
    assert_invalid(&r, 4, 5, 4, "text stands");
    run_end(&r);
}

static void test_times(void **state)
{
    (void)state;
    run r;
    run_text(
        &r, &(hx_select_options){.time = "/t", .time_unit = HX_SELECT_S},
        "{\"t\":1.5}\n{\"t\":\"1472860800.25\"}\n{\"t\":\"2016-09-03T00:00:00Z\"}\n{\"t\":true}\n{\"t\":null}\n{}\n"
        "{\"t\":\"\"}\n{\"t\":\"soon\"}\n{\"t\":1e300}\n{\"t\":-0.0001}\n{\"t\":[1]}\n");
    assert_int_equal(r.count, 11);
    assert_int_equal(r.got[0].time_ms, 1500);
    assert_int_equal(r.got[1].time_ms, 1472860800250);
    assert_int_equal(r.got[2].time_ms, 1472860800000);
    assert_invalid(&r, 3, 4, 6, "neither a number nor an RFC 3339 time");
    assert_invalid(&r, 4, 5, 6, "the time is missing");
    assert_invalid(&r, 5, 6, 0, "the time is missing");
    assert_invalid(&r, 6, 7, 7, "the time is missing");
    assert_invalid(&r, 7, 8, 7, "neither");
    assert_invalid(&r, 8, 9, 6, "out of range");
    assert_int_equal(r.got[9].time_ms, -1);
    assert_invalid(&r, 10, 11, 6, "the time is an object");
    run_end(&r);
    run_text(&r, &(hx_select_options){0}, "{\"id\":1}\n");
    assert_true(r.got[0].time_ms == HAPAX_NOW);
    run_end(&r);
}

/* What a block gave stays until the reset, also when much of it had to be rewritten; then the memory is used again.
 */
static void test_values_live_until_reset(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    char *text = malloc(COUNT * 64);
    hx_split_record *records = calloc(COUNT, sizeof *records);
    hx_selected *got = calloc(COUNT, sizeof *got);
    assert_true(text != NULL && records != NULL && got != NULL);
    size_t len = 0;
    for (int i = 0; i < COUNT; i++)
        len += (size_t)sprintf(text + len, "{\"id\":\"\\u0069%040d\"}\n", i);
    hx_select_plan *plan;
    hx_select_state *select;
    hx_select_error err;
    hx_split split;
    size_t consumed;
    assert_int_equal(hx_select_plan_new(&(hx_select_options){0}, &plan, &err), 0);
    assert_int_equal(hx_select_state_new(plan, &select), 0);
    hx_select_split(plan, &split);
    assert_int_equal(hx_split_next(&split, (unsigned char *)text, len, true, records, COUNT, &consumed), COUNT);
    for (int round = 0; round < 3; round++) {
        hx_select_reset(select);
        assert_int_equal(hx_select_block(select, (unsigned char *)text, len, records, COUNT, got), 0);
        for (int i = 0; i < COUNT; i++) {
            char want[64];
            sprintf(want, "i%040d", i);
            assert_int_equal(got[i].id_len, 41);
            assert_memory_equal(got[i].id, want, 41);
        }
    }
    hx_select_state_free(select);
    hx_select_plan_free(plan);
    free(got);
    free(records);
    free(text);
}

static void test_taken_records_are_invalid(void **state)
{
    (void)state;
    hx_select_plan *plan;
    hx_select_state *select;
    hx_select_error err;
    hx_selected got;
    assert_int_equal(hx_select_plan_new(&(hx_select_options){0}, &plan, &err), 0);
    assert_int_equal(hx_select_state_new(plan, &select), 0);
    hx_split_record record = {.len = 2, .line = 9, .lines = 1, .taken = 5};
    assert_int_equal(hx_select_block(select, (const unsigned char *)"{}", 2, &record, 1, &got), 0);
    assert_int_equal(got.status, HX_SELECT_INVALID);
    assert_int_equal(got.line, 9);
    assert_non_null(strstr(got.message, "too long"));
    hx_select_state_free(select);
    hx_select_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_json_pointers),
        cmocka_unit_test(test_json_array_places),
        cmocka_unit_test(test_json_names_twice),
        cmocka_unit_test(test_json_several_selectors),
        cmocka_unit_test(test_json_blank_and_bom),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_composite),
        cmocka_unit_test(test_composite_is_unique),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_pattern_cannot_hang),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_values_live_until_reset),
        cmocka_unit_test(test_taken_records_are_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
