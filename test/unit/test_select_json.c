/*
 * test_select_json.c - the JSON reader: what is JSON and what is not, with every kernel this machine has, at every
 * place in a block, right before a page that cannot be read; against a naive reader on random texts; and depth.
 */
#include "select_help.h"

#include "naive_json.h"
#include "select/json_reader.h"
#include "select/json_text.h"

static const char *const good_texts[] = {
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "1.5",
    "-0.0",
    "0e0",
    "1e5",
    "1E5",
    "1e+5",
    "1e-05",
    "123456789012345678901234567890",
    "0.00000000000000000000000001",
    "1.7976931348623157e400",
    "12345678",
    "123456789",
    "-12345678.12345678e12345678",
    "true",
    "false",
    "null",
    " true ",
    "\t\r\n null\n",
    "\"\"",
    "\"a\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0000\"",
    "\"\\uFFFF\\uabcd\"",
    "\"\\ud83d\\ude00\"",
    "\"\\uD83D\\uDE00x\"",
    "\"\\\\ud800\"",
    "\"\\\\\\\\\"",
    "\"\x7f\"",
    "\"/'\"",
    "\"\xc2\x80\xdf\xbf\"",
    "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
    "\"[{,:}]\"",
    "\"{\\\"id\\\":1}\"",
    "{}",
    "[]",
    " { } ",
    "[ ]",
    "[[]]",
    "[{}]",
    "{\"a\":{}}",
    "{\"a\":[]}",
    "[1]",
    "[1,2]",
    "[ 1 , 2 ]",
    "[\"a\",\"b\"]",
    "{\"a\":1}",
    "{\"a\":1,\"b\":2}",
    "{ \"a\" : 1 , \"b\" : [ true , false , null ] }",
    "{\"\":\"\"}",
    "{\"b\":1,\"b\":2}",
    "[[[],[]],{\"a\":[{}]}]",
    "{\"a\":\"b\"}",
    "{\"a\"\n:\n\"b\"\n}",
    "[-1,0,1e1]",
    "[\"\",\"\"]",
    "{\"a\\u0062\":\"\\u0063\"}",
    "[0,-0,0.0]",
    "{\"a\":{\"b\":{\"c\":[1,[2,[3]]]}},\"d\":null}",
};

static const char *const bad_texts[] = {
    "+1",
    "01",
    "-01",
    "00",
    ".5",
    "1.",
    "-",
    "-.5",
    "1e",
    "1e+",
    "1e-",
    "1.e1",
    "0x10",
    "1_000",
    "1a",
    "1.5.5",
    "1e5e5",
    "1-",
    "--1",
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "1 2",
    "1,",
    ",1",
    "1 ,",
    "\xef\xbc\x91",
    "True",
    "FALSE",
    "nul",
    "nulll",
    "truefalse",
    "t",
    "tru",
    "falsee",
    "null1",
    "true\"a\"",
    "\"a\"true",
    "\"a\"\"b\"",
    "\"",
    "\"a",
    "\"\\\"",
    "a\"",
    "'a'",
    "\"\\x\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u123g\"",
    "\"\\U0041\"",
    "\"\\a\"",
    "\"\\ \"",
    "\"\\\n\"",
    "\"\\'\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800a\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud83d\\\\ude00\"",
    "\"\\\\ud83d\\ude00\"",
    "\"\\ud83d\\ude00\\ude00\"",
    "\"\\ud83d\\n\"",
    "\"\\ud83d\\udc\"",
    "\"\x01\"",
    "\"\x1f\"",
    "\"\t\"",
    "\"\n\"",
    "\"\r\"",
    "\"a\nb\"",
    "\"\x80\"",
    "\"\xc0\x80\"",
    "\"\xc1\xbf\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xed\xa0\x80\"",
    "\"\xed\xbf\xbf\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf5\x80\x80\x80\"",
    "\"\xff\"",
    "\"\xfe\"",
    "\"\xc2\"",
    "\"\xe0\xa0\"",
    "\"\xf0\x90\x80\"",
    "\"\xc2\xc2\"",
    "\"\xe0\xa0\xc2\"",
    "\xef\xbb\xbf{}",
    "{}\xef\xbb\xbf",
    "{",
    "}",
    "[",
    "]",
    "{]",
    "[}",
    "{}}",
    "[]]",
    "[[]",
    "{{}}",
    "[{]}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1",
    "{\"a\":1,}",
    "{\"a\":1,,\"b\":2}",
    "{,}",
    "{\"a\",1}",
    "{\"a\" 1}",
    "{\"a\"::1}",
    "{1:2}",
    "{a:1}",
    "{'a':1}",
    "{null:1}",
    "{[]:1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1;\"b\":2}",
    "{\"a\":1]",
    "[1}",
    "[1,]",
    "[,1]",
    "[,]",
    "[1,,2]",
    "[1 2]",
    "[1:2]",
    "[\"a\":1]",
    "[\"a\" \"b\"]",
    "[1\"a\"]",
    "[true false]",
    "{} {}",
    "{}[]",
    "[]1",
    "1[]",
    "[1]]",
    "{}x",
    "x{}",
    "{}:",
    "{},",
    "[],",
    ":",
    ",",
    "{\"a\":\"b\":\"c\"}",
    "{\"a\":{\"b\":1}",
    "{\"a\":\"b}",
    "{\"a:1}",
    "[\"a]",
    "[1,\n",
    "{\"a\":\n",
    "{\"a\" : ",
    "/**/1",
    "1//",
    "#",
    "\\",
    "\\\"a\\\"",
    "[\\\"a\"]",
    "[1\x01]",
    "[\x01]",
    "[\0131]",
    "[1\x0c]",
    "[1\xa0]",
    "[\xe2\x80\x89]",
    "{\"a\":t}",
    "[f]",
    "[n]",
    "[-]",
    "[1e]",
    "[1.]",
    "[0123]",
    "[tru]",
    "[\"\\",
    "[\"\\u12",
    "{\"a\":1}}",
    "[[[[[[",
};

static hx_pointer_tree make_tree(const char *pointer, uint32_t *node)
{
    hx_pointer_tree tree = {0};
    size_t offset;
    const char *reason;
    assert_int_equal(hx_pointer_add(&tree, pointer, node, &offset, &reason), 0);
    return tree;
}

/* Every kernel gives the same answer, with the text at the end of what may be read and with something behind it. */
static hx_json_answer read_all_ways(const void *text, size_t len)
{
    static hx_json_reader reader;
    hx_json_kernel kernels[HX_JSON_KERNELS_MAX];
    const char *names[HX_JSON_KERNELS_MAX];
    size_t count = hx_json_scan_kernels(kernels, names);
    uint32_t node;
    hx_pointer_tree tree = make_tree("/a/1", &node);
    guarded g = guard(text, len);
    unsigned char *more = malloc(len + 100);
    assert_non_null(more);
    memcpy(more, text, len);
    memset(more + len, '"', 100);
    hx_json_answer first = HX_JSON_OK;
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(hx_json_reader_init(&reader, &tree, kernels[i]), 0);
        for (int spare = 0; spare < 2; spare++) {
            hx_json_answer answer = hx_json_reader_read(&reader, spare ? more : g.data, len, spare ? len + 100 : len);
            if (i == 0 && spare == 0) {
                first = answer;
                offset = reader.fault_offset;
            }
            if (answer != first)
                fprintf(stderr, "%s: %.*s\n", names[i], (int)len, (const char *)text);
            assert_int_equal(answer, first);
            if (answer == HX_JSON_INVALID) {
                assert_int_equal(reader.fault_offset, offset);
                assert_true(reader.fault_offset <= len);
                assert_non_null(reader.fault);
            }
        }
        hx_json_reader_free(&reader);
    }
    free(more);
    unguard(&g);
    hx_pointer_free(&tree);
    return first;
}

/* The text alone, and pushed by blanks and by a string so that its parts meet the borders of blocks and runs. */
static void check_text(const char *text, hx_json_answer want)
{
    static const size_t shifts[] = {0,  1,  15, 16, 31,  56,  57,  58,  59,  60,  61,
                                    62, 63, 64, 65, 505, 508, 509, 510, 511, 512, 1023};
    static char data[4096];
    size_t len = strlen(text);
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        size_t shift = shifts[i];
        memset(data, ' ', shift);
        memcpy(data + shift, text, len);
        if (read_all_ways(data, shift + len) != want) {
            fprintf(stderr, "behind %zu blanks: %s\n", shift, text);
            fail();
        }
        if (shift < 5)
            continue;
        /* as an element: ["xxx",TEXT] */
        memcpy(data, "[\"", 2);
        memset(data + 2, 'x', shift - 4);
        memcpy(data + shift - 2, "\",", 2);
        data[shift + len] = ']';
        if (read_all_ways(data, shift + len + 1) != want) {
            fprintf(stderr, "as an element at %zu: %s\n", shift, text);
            fail();
        }
    }
}

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_texts / sizeof good_texts[0]; i++) {
        bool deep;
        assert_true(naive_valid((const unsigned char *)good_texts[i], strlen(good_texts[i]), &deep));
        check_text(good_texts[i], HX_JSON_OK);
    }
}

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
        bool deep;
        assert_false(naive_valid((const unsigned char *)bad_texts[i], strlen(bad_texts[i]), &deep));
        if (read_all_ways(bad_texts[i], strlen(bad_texts[i])) != HX_JSON_INVALID) {
            fprintf(stderr, "taken: %s\n", bad_texts[i]);
            fail();
        }
        /* some are good as elements ("1 ," is, "1,2" would be): those are left out */
        if (strpbrk(bad_texts[i], ",]") == NULL)
            check_text(bad_texts[i], HX_JSON_INVALID);
    }
}

static void test_blank(void **state)
{
    (void)state;
    static const char *const blanks[] = {"", " ", "\t", "\r", "\n", " \t\r\n"};
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++)
        assert_int_equal(read_all_ways(blanks[i], strlen(blanks[i])), HX_JSON_BLANK);
    char many[1500];
    memset(many, ' ', sizeof many);
    for (size_t len = 0; len <= sizeof many; len += 7)
        assert_int_equal(read_all_ways(many, len), HX_JSON_BLANK);
    assert_int_equal(read_all_ways("\0", 1), HX_JSON_INVALID);
    assert_int_equal(read_all_ways("[1,\0]", 5), HX_JSON_INVALID);
    assert_int_equal(read_all_ways("\"a\0b\"", 5), HX_JSON_INVALID);
    assert_int_equal(read_all_ways("{\"a\":1}\0", 8), HX_JSON_INVALID);
    assert_int_equal(read_all_ways("[1\0]", 4), HX_JSON_INVALID);
}

static void test_faults_have_places(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
        const char *words;
    } cases[] = {
        {"{\"a\":1,}", 7, "member is missing"},
        {"{\"a\" 1}", 5, "colon"},
        {"{\"a\":1 \"b\":2}", 7, "comma or }"},
        {"[1 2]", 3, "comma or ]"},
        {"[1,]", 3, "value is missing"},
        {"[01]", 1, "begin with 0"},
        {"[1.]", 3, "decimal point"},
        {"[1e]", 3, "exponent"},
        {"[-]", 2, "digit"},
        {"[1x]", 2, "goes on"},
        {"[\"a\\x\"]", 3, "unknown escape"},
        {"[\"\\u12g4\"]", 2, "four hex digits"},
        {"[\"\\ud800\"]", 2, "half a character"},
        {"[\"ab\tc\"]", 4, "control character"},
        {"[\"a\xff\"]", 3, "UTF-8"},
        {"{\"a\":1", 6, "ends too early"},
        {"{\"a\":\"b", 7, "inside a string"},
        {"{}{}", 2, "behind the end"},
        {"[NaN]", 1, "NaN"},
        {"{'a':1}", 1, "double quotes"},
        {"[tru]", 1, "not a JSON value"},
        {"[\"\\x\",\"\\ud800\",1,,]", 2, "unknown escape"},
        {"[1,,\"\\x\"]", 3, "value is missing before"},
        {"[\"\xff\",1,,]", 2, "UTF-8"},
        {"[1,,\"\xff\"]", 3, "value is missing before"},
    };
    uint32_t node;
    hx_pointer_tree tree = make_tree("/id", &node);
    hx_json_kernel kernels[HX_JSON_KERNELS_MAX];
    const char *names[HX_JSON_KERNELS_MAX];
    static hx_json_reader reader;
    hx_json_scan_kernels(kernels, names);
    assert_int_equal(hx_json_reader_init(&reader, &tree, kernels[0]), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = strlen(cases[i].text);
        hx_json_answer answer = hx_json_reader_read(&reader, (const unsigned char *)cases[i].text, len, len);
        assert_int_equal(answer, HX_JSON_INVALID);
        if (reader.fault_offset != cases[i].offset || strstr(reader.fault, cases[i].words) == NULL)
            fprintf(stderr, "%s: %zu %s\n", cases[i].text, reader.fault_offset, reader.fault);
        assert_int_equal(reader.fault_offset, cases[i].offset);
        assert_non_null(strstr(reader.fault, cases[i].words));
    }
    hx_json_reader_free(&reader);
    hx_pointer_free(&tree);
}

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* A valid value of about `size` parts, written without recursion on the reader's side: plain text production. */
static size_t make_value(char *out, size_t cap, int depth, uint64_t *seed)
{
    static const char *const scalars[] = {"0",
                                          "-12.5e3",
                                          "true",
                                          "false",
                                          "null",
                                          "\"\"",
                                          "\"a\\\"b\\\\\"",
                                          "\"\xc3\xa9\"",
                                          "\"\\ud83d\\ude00\"",
                                          "12345678901",
                                          "\"[{,:}]\"",
                                          "\"long long long text\""};
    static const char *const blanks[] = {"", "", "", "", " ", "\t", "\n  "};
    size_t len = 0;
    uint64_t kind = depth > 6 || cap < 200 ? 2 : random_next(seed) % 3;
    if (kind == 2)
        return (size_t)snprintf(out, cap, "%s", scalars[random_next(seed) % (sizeof scalars / sizeof scalars[0])]);
    size_t count = random_next(seed) % 5;
    out[len++] = kind == 0 ? '{' : '[';
    for (size_t i = 0; i < count && cap - len > 100; i++) {
        len += (size_t)snprintf(out + len, cap - len, "%s%s", i > 0 ? "," : "", blanks[random_next(seed) % 7]);
        if (kind == 0)
            len += (size_t)snprintf(out + len, cap - len, "\"n%u\"%s:%s", (unsigned)(random_next(seed) % 1000),
                                    blanks[random_next(seed) % 7], blanks[random_next(seed) % 7]);
        len += make_value(out + len, (cap - len) / 2, depth + 1, seed);
        len += (size_t)snprintf(out + len, cap - len, "%s", blanks[random_next(seed) % 7]);
    }
    out[len++] = kind == 0 ? '}' : ']';
    return len;
}

/* Random valid texts are taken; with one byte changed, removed or added the answer is that of the naive reader. */
static void test_against_naive(void **state)
{
    (void)state;
    static const char bytes[] = "{}[]:,\"\\ \t\n0123456789-+.eEtrufalsn\x00\x01\x7f\x80\xc3\xed\xff/bdx";
    const char *scale = getenv("HAPAX_TEST_SCALE");
    int rounds = 20000 * (scale == NULL ? 100 : atoi(scale)) / 100;
    uint64_t seed = 8259;
    size_t taken = 0, refused = 0;
    for (int round = 0; round < rounds; round++) {
        char text[3000];
        size_t len = make_value(text, sizeof text - 10, 0, &seed);
        bool deep;
        for (uint64_t changes = random_next(&seed) % 3; changes > 0 && len > 0; changes--) {
            size_t at = random_next(&seed) % len;
            char byte = bytes[random_next(&seed) % (sizeof bytes - 1)];
            switch (random_next(&seed) % 4) {
            case 0: text[at] = byte; break;
            case 1: memmove(text + at, text + at + 1, --len - at); break;
            case 2:
                memmove(text + at + 1, text + at, len++ - at);
                text[at] = byte;
                break;
            default: len = at; break;
            }
        }
        bool good = naive_valid((const unsigned char *)text, len, &deep);
        assert_false(deep);
        hx_json_answer answer = read_all_ways(text, len);
        if (answer == HX_JSON_BLANK) {
            assert_false(good);
            continue;
        }
        if ((answer == HX_JSON_OK) != good)
            fprintf(stderr, "round %d: %.*s\n", round, (int)len, text);
        assert_int_equal(answer == HX_JSON_OK, good);
        taken += good;
        refused += !good;
    }
    assert_true(taken > (size_t)rounds / 5 && refused > (size_t)rounds / 5);
}

/* count containers, opened by turns as the bits of `pattern` say, with x inside. */
static char *make_deep(size_t count, uint64_t pattern, const char *inside, size_t *ret_len)
{
    char *text = malloc(count * 6 + strlen(inside) + 1);
    assert_non_null(text);
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        const char *open = pattern >> i % 64 & 1 ? "{\"a\":" : "[";
        memcpy(text + len, open, strlen(open));
        len += strlen(open);
    }
    memcpy(text + len, inside, strlen(inside));
    len += strlen(inside);
    for (size_t i = count; i-- > 0;)
        text[len++] = pattern >> i % 64 & 1 ? '}' : ']';
    *ret_len = len;
    return text;
}

static void test_depth(void **state)
{
    (void)state;
    static const uint64_t patterns[] = {0, ~(uint64_t)0, 0x5555555555555555u, 0xaaaaaaaaaaaaaaaau,
                                        0x123456789abcdef1u};
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        for (size_t count = 1; count < 200; count++) {
            size_t len;
            char *text = make_deep(count, patterns[p], "1", &len);
            assert_int_equal(read_all_ways(text, len), HX_JSON_OK);
            assert_int_equal(read_all_ways(text, len - 1), HX_JSON_INVALID);
            text[len - 1] = text[len - 1] == '}' ? ']' : '}'; /* the outermost kind */
            assert_int_equal(read_all_ways(text, len), HX_JSON_INVALID);
            text[len - 1] = text[len - 1] == '}' ? ']' : '}';
            size_t inner = len - count; /* the innermost closing */
            text[inner] = text[inner] == '}' ? ']' : '}';
            assert_int_equal(read_all_ways(text, len), HX_JSON_INVALID);
            free(text);
        }
        size_t len;
        char *text = make_deep(100000, patterns[p], "1", &len);
        assert_int_equal(read_all_ways(text, len), HX_JSON_OK);
        free(text);
    }
    size_t len;
    char *text = make_deep(5000000, 0, "", &len);
    assert_int_equal(read_all_ways(text, len), HX_JSON_OK);
    assert_int_equal(read_all_ways(text, len - 1), HX_JSON_INVALID);
    free(text);
}

static void test_unescape(void **state)
{
    (void)state;
    static const struct {
        const char *text, *content;
        size_t len;
    } cases[] = {
        {"", "", 0},
        {"abc", "abc", 3},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8},
        {"a\\u0000b", "a\0b", 3},
        {"\\u0041\\u00e9\\u20AC\\ud83d\\ude00", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10},
        {"\\u007f\\u0080\\u07ff\\u0800\\uffff", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 11},
        {"\\ud800\\udc00\\udbff\\udfff", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8},
        {"\\\\u0041", "\\u0041", 6},
        {"x\xc3\xa9\\n", "x\xc3\xa9\n", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char out[100];
        size_t len = hx_json_text_unescape((const unsigned char *)cases[i].text, strlen(cases[i].text), out);
        assert_int_equal(len, cases[i].len);
        assert_memory_equal(out, cases[i].content, len);
        assert_true(hx_json_text_equal((const unsigned char *)cases[i].text, strlen(cases[i].text),
                                       (const unsigned char *)cases[i].content, len));
        if (len > 0) {
            assert_false(hx_json_text_equal((const unsigned char *)cases[i].text, strlen(cases[i].text),
                                            (const unsigned char *)cases[i].content, len - 1));
            out[len] = 'x';
            assert_false(
                hx_json_text_equal((const unsigned char *)cases[i].text, strlen(cases[i].text), out, len + 1));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),          cmocka_unit_test(test_bad),
        cmocka_unit_test(test_blank),         cmocka_unit_test(test_faults_have_places),
        cmocka_unit_test(test_against_naive), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_unescape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
