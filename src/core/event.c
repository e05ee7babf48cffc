/*
 * event.c - events to and from records.
 *
 * A record is a type byte and a body. The run, for arrivals of one domain with consecutive seqs and one moment:
 *
 *     1 | domain | flags | seq | count | activity | wall | time | source | [sources] | [time steps] | [bits] | hashes
 *
 * Numbers are varints; activity and wall are distances from the batch's. A bracket is there where the flag says that
 * the column varies; the bits tell which arrivals were duplicates. Everything else is one event a record.
 * Invariant: what is written is read back as it was; nothing that is read is trusted.
 */
#include "core/event.h"

#include <assert.h>
#include <hapax.h>
#include <string.h>

/* Flags of a run. */
enum {
    RUN_GIVEN_TIME = 1,
    RUN_SOURCES = 2,
    RUN_TIMES = 4,
    RUN_DUPLICATES = 8,
    RUN_FLAGS = 15,
};

bool hx_event_has_blob(uint8_t type)
{
    return type == HX_EVENT_SOURCE || type == HX_EVENT_DOMAIN || type == HX_EVENT_BOOKMARK;
}

static uint32_t read_u32(hx_reader *reader)
{
    uint64_t value = hx_read_varint(reader);
    if (value > UINT32_MAX)
        reader->bad = true;
    return (uint32_t)value;
}

/* Subtraction and addition that wrap, so that no stored number is undefined behaviour. */
static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void write_hash(hx_buf *buf, hx_hash hash)
{
    hx_write_le64(buf, hash.lo);
    hx_write_le64(buf, hash.hi);
}

static hx_hash read_hash(hx_reader *reader)
{
    hx_hash hash;
    hash.lo = hx_read_le64(reader);
    hash.hi = hx_read_le64(reader);
    return hash;
}

static void write_clocks(hx_buf *buf, const hx_event_base *base, const hx_event *event)
{
    hx_write_zigzag(buf, minus(base->activity_ms, event->activity_ms));
    hx_write_zigzag(buf, minus(base->wall_ms, event->wall_ms));
}

static void read_clocks(hx_reader *reader, const hx_event_base *base, hx_event *event)
{
    event->activity_ms = minus(base->activity_ms, hx_read_zigzag(reader));
    event->wall_ms = minus(base->wall_ms, hx_read_zigzag(reader));
}

/* The number of events from the first on that make one run, and what varies in it. */
static size_t run_len(const hx_event *first, size_t n, uint8_t *ret_flags)
{
    uint8_t flags = first->flags & HX_EVENT_GIVEN_TIME ? RUN_GIVEN_TIME : 0;
    size_t len = 0;
    for (; len < n; len++) {
        const hx_event *event = &first[len];
        if (event->type != HX_EVENT_ARRIVE || event->domain != first->domain || event->seq != first->seq + len ||
            event->activity_ms != first->activity_ms || event->wall_ms != first->wall_ms ||
            ((event->flags ^ first->flags) & HX_EVENT_GIVEN_TIME) != 0)
            break;
        flags |= event->source != first->source ? RUN_SOURCES : 0;
        flags |= event->time_ms != first->time_ms ? RUN_TIMES : 0;
        flags |= event->flags & HX_EVENT_DUPLICATE ? RUN_DUPLICATES : 0;
    }
    *ret_flags = flags;
    return len;
}

static void write_duplicate_bits(hx_buf *buf, const hx_event *events, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint8_t bits = 0;
        for (size_t j = i; j < n && j < i + 8; j++)
            bits |= (uint8_t)((events[j].flags & HX_EVENT_DUPLICATE ? 1u : 0u) << (j - i));
        hx_write_u8(buf, bits);
    }
}

static size_t encode_run(hx_buf *buf, const hx_event_base *base, const hx_event *events, size_t max)
{
    uint8_t flags;
    size_t n = run_len(events, max, &flags);
    hx_write_u8(buf, HX_EVENT_ARRIVE);
    hx_write_varint(buf, events->domain);
    hx_write_u8(buf, flags);
    hx_write_varint(buf, events->seq);
    hx_write_varint(buf, n);
    write_clocks(buf, base, events);
    hx_write_zigzag(buf, events->time_ms);
    hx_write_varint(buf, events->source);
    if (flags & RUN_SOURCES)
        for (size_t i = 1; i < n; i++)
            hx_write_varint(buf, events[i].source);
    if (flags & RUN_TIMES)
        for (size_t i = 1; i < n; i++)
            hx_write_zigzag(buf, minus(events[i].time_ms, events[i - 1].time_ms));
    if (flags & RUN_DUPLICATES)
        write_duplicate_bits(buf, events, n);
    for (size_t i = 0; i < n; i++)
        write_hash(buf, events[i].hash);
    return n;
}

static void encode_counts(hx_buf *buf, const hx_event *event)
{
    hx_write_varint(buf, event->counts.duplicate);
    hx_write_varint(buf, event->counts.in_flight);
    hx_write_varint(buf, event->counts.unchecked);
    hx_write_varint(buf, event->counts.over_limit);
    hx_write_varint(buf, event->counts.steps);
    hx_write_zigzag(buf, event->time_ms);
}

/* Everything but an arrival: type, domain, flags, and what the type wants. */
static void encode_single(hx_buf *buf, const hx_event_base *base, const hx_event *event)
{
    hx_write_u8(buf, event->type);
    hx_write_varint(buf, event->domain);
    hx_write_u8(buf, event->flags);
    switch (event->type) {
    case HX_EVENT_CLAIM:
    case HX_EVENT_CONFIRM:
    case HX_EVENT_RELEASE:
    case HX_EVENT_RENEW:
        hx_write_varint(buf, event->seq);
        hx_write_varint(buf, event->claim_seq);
        write_clocks(buf, base, event);
        hx_write_zigzag(buf, event->time_ms);
        hx_write_varint(buf, event->source);
        write_hash(buf, event->hash);
        break;
    case HX_EVENT_COUNT: encode_counts(buf, event); break;
    case HX_EVENT_IDLE:
        hx_write_varint(buf, event->seq);
        write_clocks(buf, base, event);
        break;
    case HX_EVENT_SOURCE:
    case HX_EVENT_DOMAIN:
    case HX_EVENT_BOOKMARK:
        hx_write_varint(buf, event->source);
        hx_write_varint(buf, event->blob.len);
        hx_write_bytes(buf, event->blob.data, event->blob.len);
        break;
    case HX_EVENT_OPEN:
    case HX_EVENT_CLEAN:
        hx_write_varint(buf, event->claim_seq);
        write_clocks(buf, base, event);
        break;
    default: assert(!"an event of no type");
    }
}

void hx_event_encode(hx_buf *buf, const hx_event_base *base, const hx_event *events, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (events[i].type == HX_EVENT_ARRIVE) {
            i += encode_run(buf, base, events + i, n - i);
        } else {
            encode_single(buf, base, &events[i]);
            i++;
        }
    }
}

/* The columns of a run, each a cursor of its own. */
typedef struct run_columns {
    hx_reader sources, times;
    const unsigned char *bits, *hashes;
} run_columns;

/* Finds where the columns of a run are, moving the reader behind it. */
static void read_columns(hx_reader *reader, uint8_t flags, uint64_t n, run_columns *columns)
{
    columns->sources = *reader;
    for (uint64_t i = 1; i < n && (flags & RUN_SOURCES) && !reader->bad; i++)
        (void)read_u32(reader);
    columns->times = *reader;
    for (uint64_t i = 1; i < n && (flags & RUN_TIMES) && !reader->bad; i++)
        (void)hx_read_zigzag(reader);
    columns->bits = flags & RUN_DUPLICATES ? hx_read_bytes(reader, (size_t)((n + 7) / 8)) : NULL;
    columns->hashes = hx_read_bytes(reader, (size_t)n * 16);
}

static int decode_run(hx_reader *reader, const hx_event_base *base, int (*visit)(void *arg, const hx_event *event),
                      void *arg)
{
    hx_event event = {.type = HX_EVENT_ARRIVE, .domain = read_u32(reader)};
    uint8_t flags = hx_read_u8(reader);
    event.seq = hx_read_varint(reader);
    uint64_t n = hx_read_varint(reader);
    read_clocks(reader, base, &event);
    event.time_ms = hx_read_zigzag(reader);
    event.source = read_u32(reader);
    if (n == 0 || n > reader->len / 16 || flags > RUN_FLAGS)
        reader->bad = true;
    run_columns columns = {0};
    if (!reader->bad)
        read_columns(reader, flags, n, &columns);
    if (reader->bad)
        return HAPAX_ERR_DAMAGED;
    for (uint64_t i = 0; i < n; i++, event.seq++) {
        if (i > 0 && (flags & RUN_SOURCES))
            event.source = read_u32(&columns.sources);
        if (i > 0 && (flags & RUN_TIMES))
            event.time_ms = plus(event.time_ms, hx_read_zigzag(&columns.times));
        bool duplicate = columns.bits != NULL && (columns.bits[i / 8] >> (i % 8) & 1);
        event.flags =
            (uint8_t)((flags & RUN_GIVEN_TIME ? HX_EVENT_GIVEN_TIME : 0) | (duplicate ? HX_EVENT_DUPLICATE : 0));
        event.hash.lo = hx_get_le64(columns.hashes + i * 16);
        event.hash.hi = hx_get_le64(columns.hashes + i * 16 + 8);
        int rc = visit(arg, &event);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void decode_counts(hx_reader *reader, hx_event *event)
{
    event->counts.duplicate = read_u32(reader);
    event->counts.in_flight = read_u32(reader);
    event->counts.unchecked = read_u32(reader);
    event->counts.over_limit = read_u32(reader);
    event->counts.steps = read_u32(reader);
    event->time_ms = hx_read_zigzag(reader);
}

static void decode_single(hx_reader *reader, const hx_event_base *base, hx_event *event)
{
    event->domain = read_u32(reader);
    event->flags = hx_read_u8(reader);
    size_t blob_len;
    switch (event->type) {
    case HX_EVENT_CLAIM:
    case HX_EVENT_CONFIRM:
    case HX_EVENT_RELEASE:
    case HX_EVENT_RENEW:
        event->seq = hx_read_varint(reader);
        event->claim_seq = hx_read_varint(reader);
        read_clocks(reader, base, event);
        event->time_ms = hx_read_zigzag(reader);
        event->source = read_u32(reader);
        event->hash = read_hash(reader);
        break;
    case HX_EVENT_COUNT: decode_counts(reader, event); break;
    case HX_EVENT_IDLE:
        event->seq = hx_read_varint(reader);
        read_clocks(reader, base, event);
        break;
    case HX_EVENT_SOURCE:
    case HX_EVENT_DOMAIN:
    case HX_EVENT_BOOKMARK:
        event->source = read_u32(reader);
        blob_len = read_u32(reader);
        event->blob.data = (unsigned char *)hx_read_bytes(reader, blob_len);
        event->blob.len = blob_len;
        break;
    case HX_EVENT_OPEN:
    case HX_EVENT_CLEAN:
        event->claim_seq = hx_read_varint(reader);
        read_clocks(reader, base, event);
        break;
    default: reader->bad = true;
    }
}

int hx_event_decode(const unsigned char *data, size_t len, const hx_event_base *base,
                    int (*visit)(void *arg, const hx_event *event), void *arg, size_t *ret_at)
{
    hx_reader reader = {data, len, 0, false};
    while (reader.at < len) {
        *ret_at = reader.at;
        int rc = 0;
        uint8_t type = hx_read_u8(&reader);
        if (type == HX_EVENT_ARRIVE) {
            rc = decode_run(&reader, base, visit, arg);
        } else {
            hx_event event = {.type = type};
            decode_single(&reader, base, &event);
            rc = reader.bad ? HAPAX_ERR_DAMAGED : visit(arg, &event);
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

void hx_event_write_domain(hx_buf *buf, const hx_settings *settings, const char *name, size_t name_len)
{
    hx_write_varint(buf, (uint64_t)settings->window);
    hx_write_varint(buf, (uint64_t)settings->expiry_ms);
    hx_write_varint(buf, (uint64_t)settings->refresh);
    hx_write_varint(buf, (uint64_t)settings->max_age_ms);
    hx_write_varint(buf, (uint64_t)settings->source_idle_ms);
    hx_write_varint(buf, (uint64_t)settings->max_sources);
    hx_write_varint(buf, (uint64_t)settings->max_step_ms);
    hx_write_varint(buf, name_len);
    hx_write_bytes(buf, name, name_len);
}

bool hx_event_read_domain(const unsigned char *data, size_t len, hx_settings *ret_settings, const char **ret_name,
                          size_t *ret_name_len)
{
    hx_reader reader = {data, len, 0, false};
    hx_settings settings;
    settings.window = (int64_t)hx_read_varint(&reader);
    settings.expiry_ms = (int64_t)hx_read_varint(&reader);
    settings.refresh = (int64_t)hx_read_varint(&reader);
    settings.max_age_ms = (int64_t)hx_read_varint(&reader);
    settings.source_idle_ms = (int64_t)hx_read_varint(&reader);
    settings.max_sources = (int64_t)hx_read_varint(&reader);
    settings.max_step_ms = (int64_t)hx_read_varint(&reader);
    uint64_t name_len = hx_read_varint(&reader);
    const unsigned char *name = hx_read_bytes(&reader, name_len > SIZE_MAX ? SIZE_MAX : (size_t)name_len);
    if (reader.bad || reader.at != len || name_len == 0 || name_len > HAPAX_NAME_MAX)
        return false;
    *ret_settings = settings;
    *ret_name = (const char *)name;
    *ret_name_len = (size_t)name_len;
    return true;
}

void hx_event_write_bookmark(hx_buf *buf, const char *name, size_t name_len, const void *data, size_t data_len)
{
    hx_write_varint(buf, name_len);
    hx_write_bytes(buf, name, name_len);
    hx_write_bytes(buf, data, data_len);
}

bool hx_event_read_bookmark(const unsigned char *data, size_t len, const char **ret_name, size_t *ret_name_len,
                            const unsigned char **ret_data, size_t *ret_data_len)
{
    hx_reader reader = {data, len, 0, false};
    uint64_t name_len = hx_read_varint(&reader);
    const unsigned char *name = hx_read_bytes(&reader, (size_t)name_len);
    if (reader.bad || name_len == 0 || name_len > HAPAX_NAME_MAX || len - reader.at > HAPAX_BOOKMARK_MAX)
        return false;
    *ret_name = (const char *)name;
    *ret_name_len = (size_t)name_len;
    *ret_data = data + reader.at;
    *ret_data_len = len - reader.at;
    return true;
}
