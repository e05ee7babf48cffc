/*
 * simdjson_floor.cpp - what reading and validating an NDJSON file costs with simdjson alone.
 *
 *     simdjson_floor lines|many FILE
 *
 * The one idea: this is the limit that `hapax filter` is held against, so it does the least that still counts as
 * "read and validated": every record is parsed whole by the DOM parser, UTF-8, escapes and numbers included, on one
 * thread, and nothing is looked up, hashed or written. Two ways of using the library, so that the fastest can be
 * taken:
 *
 *     lines    blocks are read; each line in them is parsed by itself
 *     many     the same blocks are given to the library's own stream reader (parse_many), without its second thread
 *
 * The on-demand reader is no candidate: it checks only what is visited, and visiting every value was slower than the
 * DOM. A line cut by the end of a block is moved to the front of the buffer before the next read. The number of
 * records is printed, so that a run that skipped some is seen. A record that does not parse ends the run with exit
 * code 1.
 */
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>
#include <vector>

namespace
{

using simdjson::error_code;

constexpr size_t BLOCK_BYTES = 256 << 10;
constexpr size_t LINE_MAX_BYTES = 16 << 20;

struct counts {
    size_t records = 0;
};

class reader
{
  public:
    virtual ~reader() = default;
    /* Parses whole lines; `data` is followed by at least SIMDJSON_PADDING readable bytes. */
    virtual error_code take(const char *data, size_t len, counts &counts) = 0;
};

class lines_reader : public reader
{
    simdjson::dom::parser parser;

  public:
    error_code take(const char *data, size_t len, counts &counts) override
    {
        for (const char *end = data + len; data < end;) {
            const char *stop = static_cast<const char *>(memchr(data, '\n', static_cast<size_t>(end - data)));
            simdjson::dom::element document;
            if (stop == nullptr)
                stop = end;
            error_code error = parser.parse(data, static_cast<size_t>(stop - data), false).get(document);
            if (error)
                return error;
            counts.records++;
            data = stop + 1;
        }
        return simdjson::SUCCESS;
    }
};

class many_reader : public reader
{
    simdjson::dom::parser parser;

  public:
    error_code take(const char *data, size_t len, counts &counts) override
    {
        simdjson::dom::document_stream stream;
#ifdef SIMDJSON_THREADS_ENABLED
        parser.threaded = false;
#endif
        error_code error = parser.parse_many(data, len, LINE_MAX_BYTES).get(stream);
        if (error)
            return error;
        for (auto document : stream) {
            if ((error = document.error()))
                return error;
            counts.records++;
        }
        return simdjson::SUCCESS;
    }
};

int run(int fd, reader &reader, counts &counts)
{
    std::vector<char> buffer(BLOCK_BYTES + LINE_MAX_BYTES + simdjson::SIMDJSON_PADDING);
    size_t held = 0;

    for (;;) {
        ssize_t got = read(fd, buffer.data() + held, BLOCK_BYTES);
        if (got < 0) {
            perror("simdjson_floor");
            return 3;
        }
        held += static_cast<size_t>(got);
        const char *last = static_cast<const char *>(memrchr(buffer.data(), '\n', held));
        size_t whole = got == 0 ? held : last == nullptr ? 0 : static_cast<size_t>(last + 1 - buffer.data());
        error_code error = whole == 0 ? simdjson::SUCCESS : reader.take(buffer.data(), whole, counts);
        if (error) {
            fprintf(stderr, "simdjson_floor: record %zu: %s\n", counts.records + 1, simdjson::error_message(error));
            return 1;
        }
        if (got == 0)
            return 0;
        held -= whole;
        if (held > LINE_MAX_BYTES) {
            fprintf(stderr, "simdjson_floor: record %zu is too long\n", counts.records + 1);
            return 1;
        }
        memmove(buffer.data(), buffer.data() + whole, held);
    }
}

} // namespace

int main(int argc, char **argv)
{
    lines_reader lines;
    many_reader many;
    counts counts;
    reader *reader = nullptr;

    if (argc == 3)
        reader = strcmp(argv[1], "lines") == 0  ? static_cast<class reader *>(&lines)
                 : strcmp(argv[1], "many") == 0 ? static_cast<class reader *>(&many)
                                                : nullptr;
    if (reader == nullptr) {
        fprintf(stderr, "usage: simdjson_floor lines|many FILE\n");
        return 2;
    }
    int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        perror(argv[2]);
        return 2;
    }
    int rc = run(fd, *reader, counts);
    close(fd);
    printf("%zu\n", counts.records);
    return rc;
}
