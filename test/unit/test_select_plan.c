/*
 * test_select_plan.c - options that are refused, with the option and the place; column names; headers of several
 * files; formats by name.
 */
#include "select_help.h"

static void check_ids(hx_select_format format, const char *id, const char *delimiter, bool no_header,
                      const char *words)
{
    const char *const ids[] = {id};
    hx_select_options o = {
        .format = format, .ids = ids, .id_count = 1, .delimiter = delimiter, .no_header = no_header};
    assert_refused(&o, words);
}

static void test_pointers_refused(void **state)
{
    (void)state;
    check_ids(HX_SELECT_NDJSON, "id", NULL, false,
              "--id \"id\": a JSON Pointer is empty or begins with \"/\"; is \"/id\" meant?");
    check_ids(HX_SELECT_NDJSON, "$.id", NULL, false, "--id \"$.id\": at byte 1: a JSON Pointer");
    check_ids(HX_SELECT_NDJSON, "/a~2b", NULL, false, "--id \"/a~2b\": at byte 3: \"~\" must be followed by 0");
    check_ids(HX_SELECT_NDJSON, "/a~", NULL, false, "at byte 3");
    check_ids(HX_SELECT_NDJSON, "/a~/b", NULL, false, "at byte 3");
    check_ids(HX_SELECT_NDJSON, "/a\xff", NULL, false, "at byte 3: not UTF-8");
    assert_refused(&(hx_select_options){.time = "/x~3"}, "--time \"/x~3\": at byte 3");
    assert_refused(&(hx_select_options){.source = "src"}, "--source \"src\": a JSON Pointer");
    char deep[12001];
    for (size_t i = 0; i < 12000; i += 2)
        memcpy(deep + i, "/a", 2);
    deep[12000] = '\0';
    check_ids(HX_SELECT_NDJSON, deep, NULL, false, "too many parts");
}

static void test_combinations_refused(void **state)
{
    (void)state;
    const char *ids[HX_SELECT_IDS_MAX + 1];
    for (size_t i = 0; i <= HX_SELECT_IDS_MAX; i++)
        ids[i] = "/id";
    hx_select_options o = {.ids = ids, .id_count = HX_SELECT_IDS_MAX + 1};
    assert_refused(&o, "--id: given 17 times, at most 16");
    assert_refused(&((hx_select_options){.id_pattern = "x"}),
                   "--id-pattern \"x\": goes with --format lines only, and this is ndjson");
    o = (hx_select_options){.format = HX_SELECT_LINES, .id_pattern = "x", .ids = ids, .id_count = 1};
    assert_refused(&o, "cannot be combined with --id");
    assert_refused(&((hx_select_options){.no_header = true}), "--header \"no\": goes with csv and tsv only");
    assert_refused(&((hx_select_options){.delimiter = ";"}), "--delimiter \";\": goes with csv, tsv and lines only");
    o = (hx_select_options){.format = HX_SELECT_LINES, .delimiter = ""};
    assert_refused(&o, "one byte");
    o.delimiter = ";;";
    assert_refused(&o, "--delimiter \";;\": must be one byte");
    o.delimiter = "\xc2\xa7";
    assert_refused(&o, "one byte");
    o.delimiter = "\n";
    assert_refused(&o, "line end");
    o = (hx_select_options){.format = HX_SELECT_CSV, .delimiter = "\""};
    assert_refused(&o, "the quote");
}

static void test_numbers_refused(void **state)
{
    (void)state;
    check_ids(HX_SELECT_LINES, "1", NULL, false, "--id \"1\": fields of lines need --delimiter");
    check_ids(HX_SELECT_LINES, "x", " ", false, "--id \"x\": fields of lines are chosen by number");
    check_ids(HX_SELECT_LINES, "0", " ", false, "counted from 1");
    check_ids(HX_SELECT_LINES, "-1", " ", false, "by number");
    check_ids(HX_SELECT_LINES, "", " ", false, "by number");
    check_ids(HX_SELECT_LINES, "1000000001", " ", false, "counted from 1 to 1000000000");
    check_ids(HX_SELECT_LINES, "99999999999999999999999", " ", false, "counted from 1");
    check_ids(HX_SELECT_CSV, "id", NULL, true, "--id \"id\": without a header, columns are chosen by number");
    check_ids(HX_SELECT_TSV, "0", NULL, true, "counted from 1");
    assert_refused(&((hx_select_options){.format = HX_SELECT_LINES, .time = "2"}),
                   "--time \"2\": fields of lines need --delimiter");
}

static void test_patterns_refused(void **state)
{
    (void)state;
    hx_select_options o = {.format = HX_SELECT_LINES, .id_pattern = "id=(\\d+"};
    assert_refused(&o, "--id-pattern \"id=(\\d+\": at byte 8: missing closing parenthesis");
    o.id_pattern = "a**+";
    assert_refused(&o, "--id-pattern \"a**+\": at byte ");
    o.id_pattern = "[\xc3\xa4-\xff]";
    assert_refused(&o, "UTF-8");
}

/* The error for a file whose header is `header` under --id ID; NULL: none. */
static void check_header(hx_select_format format, const char *id, const char *header, const char *words)
{
    run r;
    const char *const ids[] = {id};
    run_text(&r, &(hx_select_options){.format = format, .ids = ids, .id_count = 1}, header);
    assert_int_equal(r.rc, words == NULL ? 0 : -EINVAL);
    if (words != NULL && strstr(r.err.message, words) == NULL)
        fprintf(stderr, "message: %s\n", r.err.message);
    if (words != NULL)
        assert_non_null(strstr(r.err.message, words));
    run_end(&r);
}

static void test_column_names(void **state)
{
    (void)state;
    check_header(HX_SELECT_CSV, "id", "name,id\n", NULL);
    check_header(HX_SELECT_CSV, "a\"b,c", "x,\"a\"\"b,c\"\n", NULL);
    check_header(HX_SELECT_CSV, "", "a,,b\n", NULL);
    check_header(HX_SELECT_CSV, "2", "name,id\n", NULL);
    check_header(HX_SELECT_CSV, "evnt_id", "app_id,event_id,time\n",
                 "--id \"evnt_id\": no such column in the header; is \"event_id\" meant?");
    check_header(HX_SELECT_CSV, "ID", "name,id\n", "is \"id\" meant?");
    check_header(HX_SELECT_CSV, "order", "name,id\n", "no such column among the 2 of the header");
    check_header(HX_SELECT_CSV, "id", "name;id\n", "only one, \"name;id\" (is --delimiter right?)");
    check_header(HX_SELECT_CSV, "3", "name,id\n", "--id \"3\": the header has columns 1 to 2");
    check_header(HX_SELECT_CSV, "0", "name,id\n", "columns 1 to 2");
    check_header(HX_SELECT_CSV, "id", "id,x,id\n",
                 "--id \"id\": columns 1 and 3 both have that name; give the number");
    check_header(HX_SELECT_CSV, "x", "id,x,id\n", NULL);
    check_header(HX_SELECT_CSV, "1", "id,x,id\n", NULL);
    check_header(HX_SELECT_CSV, "id", "name,\"id\n", "the header, line 1, column 6: a quoted field is never closed");
    check_header(HX_SELECT_TSV, "id", "\xef\xbb\xbfid\tx\r\n", NULL);
    char names[500];
    size_t len = 0;
    for (int i = 0; i < 100; i++)
        len += (size_t)sprintf(names + len, "c%d,", i);
    check_header(HX_SELECT_CSV, "nothing-like-it-at-all-and-much-too-long-to-be-compared-with-names", names,
                 "among the 101 of the header");
}

/* A column whose name looks like a number is found by that name. */
static void test_name_before_number(void **state)
{
    (void)state;
    run r;
    const char *const ids[] = {"1"};
    run_text(&r, &(hx_select_options){.format = HX_SELECT_CSV, .ids = ids, .id_count = 1}, "2,1\na,b\n");
    assert_id(&r, 0, "b");
    run_end(&r);
}

static int second_header(run *r, const char *text, hx_select_error *err)
{
    hx_split split;
    hx_split_record record;
    size_t consumed;
    guarded g = guard(text, strlen(text));
    hx_select_split(r->plan, &split);
    assert_int_equal(hx_split_next(&split, g.data, strlen(text), true, &record, 1, &consumed), 1);
    int rc = hx_select_header(r->plan, g.data, &record, err);
    unguard(&g);
    return rc;
}

static void test_headers_of_several_files(void **state)
{
    (void)state;
    static const struct {
        const char *header, *words;
    } cases[] = {
        {"id,\"na\"\"me\",at\n", NULL},
        {"\"id\",\"na\"\"me\",\"at\"\r\n", NULL},
        {"\xef\xbb\xbfid,\"na\"\"me\",at", NULL},
        {"id,na\"me,at\n", NULL},
        {"id,name,at\n", "column 2 of the header is \"name\" and not \"na\"me\" as in the first file"},
        {"id,\"na\"\"me\"\n", "the header ends before column 3, \"at\" in the first file"},
        {"id,\"na\"\"me\",at,x\n", "the header has a column 4, \"x\", more than the first file"},
        {"\"na\"\"me\",id,at\n", "column 1 of the header is"},
        {"\n", "column 1 of the header is \"\" and not \"id\""},
        {"id,\"na\"\"me\"x,at\n", "text stands between"},
    };
    run r;
    run_text(&r, &(hx_select_options){.format = HX_SELECT_CSV}, "id,\"na\"\"me\",at\n1,2,3\n");
    assert_int_equal(r.rc, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hx_select_error err = {0};
        assert_int_equal(second_header(&r, cases[i].header, &err), cases[i].words == NULL ? 0 : -EINVAL);
        if (cases[i].words != NULL && strstr(err.message, cases[i].words) == NULL)
            fprintf(stderr, "message: %s\n", err.message);
        if (cases[i].words != NULL)
            assert_non_null(strstr(err.message, cases[i].words));
    }
    run_end(&r);
}

static void test_formats(void **state)
{
    (void)state;
    assert_int_equal(hx_select_format_by_name("a/b.csv"), HX_SELECT_CSV);
    assert_int_equal(hx_select_format_by_name("B.CSV"), HX_SELECT_CSV);
    assert_int_equal(hx_select_format_by_name("b.tsv"), HX_SELECT_TSV);
    assert_int_equal(hx_select_format_by_name("b.txt"), HX_SELECT_LINES);
    assert_int_equal(hx_select_format_by_name("b.jsonl"), HX_SELECT_NDJSON);
    assert_int_equal(hx_select_format_by_name(".csv"), HX_SELECT_NDJSON);
    assert_int_equal(hx_select_format_by_name("csv"), HX_SELECT_NDJSON);
    assert_int_equal(hx_select_format_by_name("b.csv.bak"), HX_SELECT_NDJSON);
    assert_int_equal(hx_select_format_by_name(""), HX_SELECT_NDJSON);
    for (hx_select_format format = HX_SELECT_NDJSON; format <= HX_SELECT_LINES; format++) {
        hx_select_format again = HX_SELECT_NDJSON;
        assert_int_equal(hx_select_format_parse(hx_select_format_name(format), &again), 0);
        assert_int_equal(again, format);
    }
    hx_select_format untouched = HX_SELECT_TSV;
    assert_int_equal(hx_select_format_parse("CSV", &untouched), -EINVAL);
    assert_int_equal(hx_select_format_parse("", &untouched), -EINVAL);
    assert_int_equal(untouched, HX_SELECT_TSV);
}

static void test_header_is_asked_for(void **state)
{
    (void)state;
    for (hx_select_format format = HX_SELECT_NDJSON; format <= HX_SELECT_LINES; format++) {
        hx_select_plan *plan;
        hx_select_error err;
        bool table = format == HX_SELECT_CSV || format == HX_SELECT_TSV;
        assert_int_equal(hx_select_plan_new(&(hx_select_options){.format = format}, &plan, &err), 0);
        assert_int_equal(hx_select_plan_format(plan), format);
        assert_int_equal(hx_select_has_header(plan), table);
        hx_select_plan_free(plan);
        if (!table)
            continue;
        assert_int_equal(hx_select_plan_new(&(hx_select_options){.format = format, .no_header = true}, &plan, &err),
                         0);
        assert_false(hx_select_has_header(plan));
        hx_select_plan_free(plan);
    }
    hx_select_plan_free(NULL);
    hx_select_state_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointers_refused),
        cmocka_unit_test(test_combinations_refused),
        cmocka_unit_test(test_numbers_refused),
        cmocka_unit_test(test_patterns_refused),
        cmocka_unit_test(test_column_names),
        cmocka_unit_test(test_name_before_number),
        cmocka_unit_test(test_headers_of_several_files),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_header_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
