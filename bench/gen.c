/*
 * gen.c - writes the benchmark's input, and what a right answer to it looks like.
 *
 * The one idea: everything follows from (seed, position), so the same command always writes the same bytes, and
 * the program knows without any hash table which records are first copies:
 *
 *     position i :  a new id (the next number j), or a repeat of the id at an earlier position
 *     id of j    :  a version-4 UUID whose upper 60 random bits are a one-to-one mixing of j, so that two numbers
 *                   never share an id; the lower 62 bits are mixed from j too
 *
 * The same command with --first-copies writes only the first copies: the bytes a filter must write. With --ids it
 * writes the ids alone, a line each. A repeat of an NDJSON message has the same id and body but its own "received"
 * time and "attempt", as a real second delivery has, so a filter that keeps the wrong copy is seen.
 * One line of JSON on stderr tells the counts. Records end in LF. Output goes to stdout.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_BYTES = 1 << 20, RECORD_MAX = 1 << 16, UUID_LEN = 36 };

struct options {
    bool ndjson;
    bool even;
    bool first_copies;
    bool ids;
    uint64_t count;
    uint64_t repeat_permille;
    uint64_t recent;
    uint64_t size;
    uint64_t seed;
};

struct writer {
    char *data;
    size_t len;
    uint64_t records;
    uint64_t bytes;
};

/* The numbers behind the positions so far, and the state of the random choice of repeats. */
struct history {
    uint32_t *number_at;
    uint64_t random;
    uint32_t next_number;
};

static const char HEX[] = "0123456789abcdef";

/* Stirs 64 bits; each step can be undone, so different inputs give different outputs. */
static uint64_t stir(uint64_t x)
{
    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 29;
    x *= 0x9fb21c651e98df25u;
    return x ^ (x >> 32);
}

/* The same within 60 bits: an odd factor and a shift that only mixes downwards are both one-to-one there. */
static uint64_t stir60(uint64_t x)
{
    const uint64_t mask = (UINT64_C(1) << 60) - 1;

    for (int round = 0; round < 3; round++) {
        x = (x * 0xd6e8feb86659fd93u + 0x2545f491u) & mask;
        x ^= x >> 31;
    }
    return x;
}

static uint64_t next_random(struct history *history)
{
    history->random += 0x9e3779b97f4a7c15u;
    return stir(history->random);
}

/* A number below `limit` (at most 2^32), without the bias and the cost of a division. */
static uint64_t random_below(struct history *history, uint64_t limit)
{
    return ((next_random(history) >> 32) * limit) >> 32;
}

static int writer_flush(struct writer *writer)
{
    size_t done = 0;

    while (done < writer->len) {
        ssize_t n = write(STDOUT_FILENO, writer->data + done, writer->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    writer->bytes += writer->len;
    writer->len = 0;
    return 0;
}

static void put(struct writer *writer, const char *text, size_t len)
{
    memcpy(writer->data + writer->len, text, len);
    writer->len += len;
}

#define PUT(writer, literal) put((writer), "" literal, sizeof(literal) - 1)

/* `width` decimal digits, zero-filled. */
static void put_digits(struct writer *writer, uint64_t value, size_t width)
{
    char *at = writer->data + writer->len;

    for (size_t i = width; i > 0; i--) {
        at[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    writer->len += width;
}

static void put_hex(struct writer *writer, uint64_t value, size_t width)
{
    char *at = writer->data + writer->len;

    for (size_t i = width; i > 0; i--) {
        at[i - 1] = HEX[value & 15];
        value >>= 4;
    }
    writer->len += width;
}

static void put_uuid(struct writer *writer, uint64_t seed, uint32_t number)
{
    uint64_t high = stir60(number ^ (seed << 32));
    uint64_t low = stir(high + seed);

    put_hex(writer, high >> 28, 8);
    PUT(writer, "-");
    put_hex(writer, (high >> 12) & 0xffff, 4);
    PUT(writer, "-4");
    put_hex(writer, high & 0xfff, 3);
    PUT(writer, "-");
    put_hex(writer, 0x8000 | ((low >> 48) & 0x3fff), 4);
    PUT(writer, "-");
    put_hex(writer, low & 0xffffffffffffu, 12);
}

/* Text as people write it: escapes, letters beyond ASCII as bytes and as \u, an emoji outside the first plane. */
static void put_note(struct writer *writer, uint64_t bits, size_t len_wanted)
{
    static const char *const PHRASES[8] = {
        "leave at the side door",
        "call \\\"Ms. Ng\\\" first",
        "Gr\xc3\xb6\xc3\x9f"
        "e M, K\xc3\xb6ln",
        "2 boxes\\tthis way up",
        "caf\\u00e9, 3rd floor",
        "\xe9\x80\x81\xe6\x96\x99\xe7\x84\xa1\xe6\x96\x99",
        "path C:\\\\in\\\\orders\\n",
        "thanks \xf0\x9f\x99\x82 see you",
    };
    size_t start = writer->len;

    do {
        const char *phrase = PHRASES[bits & 7];
        put(writer, phrase, strlen(phrase));
        PUT(writer, "; ");
        bits = (bits >> 3) | (bits << 61);
    } while (writer->len - start < len_wanted);
}

static void put_time(struct writer *writer, uint64_t position)
{
    uint64_t seconds = position / 64;

    PUT(writer, "2026-03-");
    put_digits(writer, 1 + seconds / 86400 % 28, 2);
    PUT(writer, "T");
    put_digits(writer, seconds / 3600 % 24, 2);
    PUT(writer, ":");
    put_digits(writer, seconds / 60 % 60, 2);
    PUT(writer, ":");
    put_digits(writer, seconds % 60, 2);
    PUT(writer, ".");
    put_digits(writer, position % 64 * 15, 3);
    PUT(writer, "Z");
}

static void put_message(struct writer *writer, const struct options *options, uint64_t position, uint32_t number,
                        bool repeat)
{
    static const char *const KINDS[4] = {"order.created", "order.paid", "order.sent", "order.cancelled"};
    const size_t typical_len = 285; /* a message with a note of one phrase, on average */
    uint64_t bits = stir(number + options->seed * 0x1000193u);
    const char *kind = KINDS[bits & 3];

    PUT(writer, "{\"type\":\"");
    put(writer, kind, strlen(kind));
    PUT(writer, "\",\"received\":\"");
    put_time(writer, position);
    PUT(writer, "\",\"attempt\":");
    put_digits(writer, repeat ? 2 : 1, 1);
    PUT(writer, ",\"source\":\"till-");
    put_digits(writer, (bits >> 2) % 500, 3);
    PUT(writer, "\",\"id\":\"");
    put_uuid(writer, options->seed, number);
    PUT(writer, "\",\"order\":{\"number\":");
    put_digits(writer, 100000000 + number, 9);
    PUT(writer, ",\"total\":");
    put_digits(writer, 100 + (bits >> 11) % 900, 3);
    PUT(writer, ".");
    put_digits(writer, (bits >> 21) % 100, 2);
    PUT(writer, ",\"items\":[{\"sku\":\"A-");
    put_hex(writer, bits >> 28, 6);
    PUT(writer, "\",\"n\":");
    put_digits(writer, 1 + (bits >> 52) % 9, 1);
    PUT(writer, "},{\"sku\":\"B-");
    put_hex(writer, bits >> 36, 6);
    PUT(writer, "\",\"n\":");
    put_digits(writer, 1 + (bits >> 56) % 9, 1);
    PUT(writer, "}],\"note\":\"");
    put_note(writer, bits >> 5, options->size > typical_len ? options->size - typical_len : 0);
    if (bits >> 63)
        PUT(writer, "\",\"paid\":true,\"ref\":null}}");
    else
        PUT(writer, "\",\"paid\":false,\"ref\":-1.5e3}}");
}

/* Chooses the id number of `position`; true when it is a repeat of an earlier one. */
static bool choose(struct history *history, const struct options *options, uint64_t position)
{
    uint64_t reach = options->even || position < options->recent ? position : options->recent;
    bool repeat = position > 0 && random_below(history, 1000) < options->repeat_permille;

    if (repeat)
        history->number_at[position] = history->number_at[position - 1 - random_below(history, reach)];
    else
        history->number_at[position] = history->next_number++;
    return repeat;
}

static int generate(const struct options *options)
{
    struct history history = {.random = stir(options->seed)};
    struct writer writer = {0};
    int rc = -ENOMEM;

    history.number_at = calloc(options->count + 1, sizeof *history.number_at);
    writer.data = malloc(OUT_BYTES + RECORD_MAX);
    if (history.number_at == NULL || writer.data == NULL)
        goto done;
    for (uint64_t position = 0; position < options->count; position++) {
        bool repeat = choose(&history, options, position);
        uint32_t number = history.number_at[position];

        if (repeat && options->first_copies)
            continue;
        if (options->ndjson && !options->ids)
            put_message(&writer, options, position, number, repeat);
        else
            put_uuid(&writer, options->seed, number);
        PUT(&writer, "\n");
        writer.records++;
        if (writer.len >= OUT_BYTES) {
            rc = writer_flush(&writer);
            if (rc < 0)
                goto done;
        }
    }
    rc = writer_flush(&writer);
    if (rc < 0)
        goto done;
    fprintf(stderr, "{\"in\":%llu,\"distinct\":%llu,\"written\":%llu,\"bytes\":%llu}\n",
            (unsigned long long)options->count, (unsigned long long)history.next_number,
            (unsigned long long)writer.records, (unsigned long long)writer.bytes);
done:
    free(writer.data);
    free(history.number_at);
    return rc;
}

static int parse_number(const char *text, uint64_t max, uint64_t *ret)
{
    char *end = NULL;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value > max)
        return -EINVAL;
    *ret = value;
    return 0;
}

/* Takes one option; the number of arguments used, or -EINVAL. */
static int parse_option(struct options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        uint64_t *where;
        uint64_t max;
    } numbers[] = {
        {"--count", &options->count, UINT64_C(800000000)},
        {"--repeat-permille", &options->repeat_permille, 1000},
        {"--recent", &options->recent, UINT32_MAX},
        {"--size", &options->size, RECORD_MAX / 2},
        {"--seed", &options->seed, UINT32_MAX},
    };

    if (strcmp(name, "--first-copies") == 0 || strcmp(name, "--ids") == 0) {
        *(name[2] == 'i' ? &options->ids : &options->first_copies) = true;
        return 1;
    }
    if (value == NULL)
        return -EINVAL;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0)
            return parse_number(value, numbers[i].max, numbers[i].where) < 0 ? -EINVAL : 2;
    }
    if (strcmp(name, "--format") == 0 && (strcmp(value, "lines") == 0 || strcmp(value, "ndjson") == 0)) {
        options->ndjson = value[0] == 'n';
        return 2;
    }
    if (strcmp(name, "--from") == 0 && (strcmp(value, "recent") == 0 || strcmp(value, "even") == 0)) {
        options->even = value[0] == 'e';
        return 2;
    }
    return -EINVAL;
}

int main(int argc, char **argv)
{
    struct options options = {.count = 1000000, .repeat_permille = 50, .recent = 100000, .size = 300, .seed = 1};
    int rc = 0;

    for (int i = 1; i < argc; i += rc) {
        rc = parse_option(&options, argv[i], argv[i + 1]);
        if (rc < 0) {
            fprintf(stderr,
                    "gen: bad option or value at '%s'\n"
                    "usage: gen [--format lines|ndjson] [--count N] [--repeat-permille N] [--from recent|even]\n"
                    "           [--recent N] [--size BYTES] [--seed N] [--first-copies] [--ids]\n",
                    argv[i]);
            return 2;
        }
    }
    if (options.recent == 0)
        options.recent = 1;
    rc = generate(&options);
    if (rc < 0) {
        fprintf(stderr, "gen: %s\n", strerror(-rc));
        return 3;
    }
    return 0;
}
