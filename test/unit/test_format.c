/*
 * test_format.c - blocks, batches and records: what is written is read back, and nothing else is taken for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hapax.h>
#include <stdlib.h>
#include <string.h>

#include "core/event.h"
#include "core/format.h"

static const hx_superblock a_superblock = {
    .version = HX_FORMAT_VERSION, .generation = 9, .uuid = "uuid", .key = "key", .first_wal = 3, .created_ms = -4};

static const hx_wal_header a_wal_header = {.version = HX_FORMAT_VERSION,
                                           .uuid = "uuid",
                                           .key = "key",
                                           .seq = 8,
                                           .prev_seq = 7,
                                           .prev_end = 8192,
                                           .first_lsn = 55,
                                           .chain = UINT64_MAX,
                                           .salt = 77,
                                           .wall_ms = 1767225600000};

static const hx_batch_header a_batch = {.len = 100,
                                        .count = 3,
                                        .first_lsn = 55,
                                        .salt = 77,
                                        .chain = 1,
                                        .wall_ms = 2,
                                        .activity_ms = 3,
                                        .payload_crc = 4};

static void blocks_are_read_back_as_written(void **state)
{
    (void)state;
    unsigned char block[HX_BLOCK];
    hx_superblock superblock = {0};
    hx_format_write_superblock(block, &a_superblock);
    assert_int_equal(hx_format_read_superblock(block, &superblock), HX_FORMAT_GOOD);
    assert_memory_equal(&superblock, &a_superblock, sizeof superblock);
    hx_wal_header header = {0};
    hx_format_write_wal_header(block, &a_wal_header);
    assert_int_equal(hx_format_read_wal_header(block, &header), HX_FORMAT_GOOD);
    assert_memory_equal(&header, &a_wal_header, sizeof header);
    unsigned char bytes[HX_BATCH_HEADER];
    hx_batch_header batch = {0};
    hx_format_write_batch(bytes, &a_batch);
    assert_int_equal(hx_format_read_batch(bytes, &batch), HX_FORMAT_GOOD);
    assert_memory_equal(&batch, &a_batch, sizeof batch);
}

static void every_flipped_bit_is_seen(void **state)
{
    (void)state;
    unsigned char block[HX_BLOCK];
    hx_superblock superblock;
    hx_format_write_superblock(block, &a_superblock);
    for (size_t bit = 0; bit < 8 * HX_BLOCK; bit++) {
        block[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(hx_format_read_superblock(block, &superblock), HX_FORMAT_BAD);
        block[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    unsigned char bytes[HX_BATCH_HEADER];
    hx_batch_header batch;
    hx_format_write_batch(bytes, &a_batch);
    for (size_t bit = 0; bit < 8 * HX_BATCH_HEADER; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(hx_format_read_batch(bytes, &batch), HX_FORMAT_BAD);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void blank_newer_and_foreign_are_told_apart(void **state)
{
    (void)state;
    unsigned char block[HX_BLOCK] = {0};
    hx_superblock superblock;
    hx_wal_header header;
    assert_int_equal(hx_format_read_superblock(block, &superblock), HX_FORMAT_BLANK);
    assert_int_equal(hx_format_read_wal_header(block, &header), HX_FORMAT_BLANK);
    hx_superblock newer = a_superblock;
    newer.version = HX_FORMAT_VERSION + 1;
    hx_format_write_superblock(block, &newer);
    assert_int_equal(hx_format_read_superblock(block, &superblock), HX_FORMAT_NEWER);
    assert_int_equal(superblock.version, HX_FORMAT_VERSION + 1);
    assert_int_equal(hx_format_read_wal_header(block, &header), HX_FORMAT_BAD);
    newer.version = 0;
    hx_format_write_superblock(block, &newer);
    assert_int_equal(hx_format_read_superblock(block, &superblock), HX_FORMAT_BAD);
    unsigned char bytes[HX_BATCH_HEADER] = {0};
    hx_batch_header batch;
    assert_int_equal(hx_format_read_batch(bytes, &batch), HX_FORMAT_BLANK);
    hx_batch_header huge = a_batch;
    huge.len = HX_BATCH_MAX + 1;
    hx_format_write_batch(bytes, &huge);
    assert_int_equal(hx_format_read_batch(bytes, &batch), HX_FORMAT_BAD);
}

static void a_batch_spans_whole_blocks(void **state)
{
    (void)state;
    assert_int_equal(hx_format_batch_span(1), HX_BLOCK);
    assert_int_equal(hx_format_batch_span(HX_BLOCK - HX_BATCH_HEADER), HX_BLOCK);
    assert_int_equal(hx_format_batch_span(HX_BLOCK - HX_BATCH_HEADER + 1), 2 * HX_BLOCK);
}

typedef struct expected {
    const hx_event *events;
    size_t len, at;
    int stop_after;
} expected;

static int compare_event(void *arg, const hx_event *event)
{
    expected *e = arg;
    assert_true(e->at < e->len);
    const hx_event *want = &e->events[e->at++];
    assert_int_equal(event->type, want->type);
    assert_int_equal(event->flags, want->flags);
    assert_int_equal(event->domain, want->domain);
    assert_true(event->source == want->source && event->seq == want->seq && event->claim_seq == want->claim_seq);
    assert_true(event->time_ms == want->time_ms && event->activity_ms == want->activity_ms);
    assert_true(event->wall_ms == want->wall_ms);
    if (hx_event_has_blob(event->type)) {
        assert_int_equal(event->blob.len, want->blob.len);
        assert_memory_equal(event->blob.data, want->blob.data, want->blob.len);
    } else if (event->type == HX_EVENT_COUNT) {
        assert_memory_equal(&event->counts, &want->counts, sizeof want->counts);
    } else {
        assert_true(event->hash.lo == want->hash.lo && event->hash.hi == want->hash.hi);
    }
    return e->stop_after > 0 && (int)e->at == e->stop_after ? 5 : 0;
}

/* Arrivals that vary in everything a run can vary in, and one event of every other type. */
static size_t make_events(hx_event *events)
{
    size_t n = 0;
    for (uint64_t i = 0; i < 40; i++) {
        events[n++] = (hx_event){
            .type = HX_EVENT_ARRIVE,
            .flags = (uint8_t)((i >= 20 ? HX_EVENT_GIVEN_TIME : 0) | (i % 7 == 3 ? HX_EVENT_DUPLICATE : 0)),
            .domain = i < 35 ? 1 : 2,
            .source = (uint32_t)(i < 10 ? 4 : i),
            .seq = i < 30 ? 100 + i : 200 + i,
            .time_ms = (int64_t)(i < 15 ? 7 : i * i) - 50,
            .activity_ms = i < 38 ? 1000 : 999,
            .wall_ms = 1767225600000,
            .hash = {i, ~i}};
    }
    static const uint8_t claims[] = {HX_EVENT_CLAIM, HX_EVENT_CONFIRM, HX_EVENT_RELEASE, HX_EVENT_RENEW};
    for (size_t i = 0; i < sizeof claims; i++)
        events[n++] = (hx_event){.type = claims[i],
                                 .domain = 65535,
                                 .source = 9,
                                 .seq = UINT64_MAX,
                                 .claim_seq = 12,
                                 .time_ms = INT64_MIN,
                                 .activity_ms = INT64_MAX,
                                 .wall_ms = -1,
                                 .hash = {1, 2}};
    events[n++] = (hx_event){
        .type = HX_EVENT_COUNT, .flags = HX_EVENT_HAS_STEP, .time_ms = -3, .counts = {1, 2, UINT32_MAX, 4, 5}};
    events[n++] = (hx_event){.type = HX_EVENT_IDLE, .seq = 3, .activity_ms = 12, .wall_ms = 13};
    events[n++] = (hx_event){.type = HX_EVENT_OPEN, .claim_seq = 77, .activity_ms = 1, .wall_ms = 2};
    events[n++] = (hx_event){.type = HX_EVENT_CLEAN, .activity_ms = 1, .wall_ms = 2};
    static const uint8_t blobs[] = {HX_EVENT_SOURCE, HX_EVENT_DOMAIN, HX_EVENT_BOOKMARK};
    for (size_t i = 0; i < sizeof blobs; i++) {
        events[n] = (hx_event){.type = blobs[i], .source = 1};
        events[n].blob.data = (unsigned char *)"some bytes";
        events[n++].blob.len = i * 5;
    }
    return n;
}

static void records_are_read_back_as_written(void **state)
{
    (void)state;
    hx_event events[64];
    size_t n = make_events(events);
    hx_event_base base = {1000, 1767225600000};
    hx_buf buf = {0};
    assert_int_equal(hx_buf_reserve(&buf, n * HX_EVENT_BYTES_MAX + 64), 0);
    hx_event_encode(&buf, &base, events, n);
    assert_true(buf.len <= n * HX_EVENT_BYTES_MAX);
    expected e = {events, n, 0, 0};
    size_t at;
    assert_int_equal(hx_event_decode(buf.data, buf.len, &base, compare_event, &e, &at), 0);
    assert_int_equal(e.at, n);
    e.at = 0;
    e.stop_after = 17;
    assert_int_equal(hx_event_decode(buf.data, buf.len, &base, compare_event, &e, &at), 5);
    hx_buf_free(&buf);
}

static int ignore_event(void *arg, const hx_event *event)
{
    (void)event;
    ++*(size_t *)arg;
    return 0;
}

/* Cut anywhere, records are refused or end where a record ends; never read past the cut (a sanitizer looks on). */
static void cut_records_are_refused(void **state)
{
    (void)state;
    hx_event events[64];
    size_t n = make_events(events);
    hx_event_base base = {0, 0};
    hx_buf buf = {0};
    assert_int_equal(hx_buf_reserve(&buf, n * HX_EVENT_BYTES_MAX + 64), 0);
    hx_event_encode(&buf, &base, events, n);
    size_t whole = 0;
    for (size_t len = 0; len < buf.len; len++) {
        unsigned char *copy = malloc(len + 1);
        memcpy(copy, buf.data, len);
        size_t seen = 0;
        size_t at = 0;
        int rc = hx_event_decode(copy, len, &base, ignore_event, &seen, &at);
        assert_true(rc == 0 || rc == HAPAX_ERR_DAMAGED);
        assert_true(seen < n);
        whole += rc == 0;
        free(copy);
    }
    assert_true(whole < n);
    hx_buf_free(&buf);
}

static void an_id_in_a_run_costs_little_more_than_its_hash(void **state)
{
    (void)state;
    enum { IDS = 1000 };
    hx_event *events = calloc(IDS, sizeof *events);
    for (uint64_t i = 0; i < IDS; i++)
        events[i] = (hx_event){.type = HX_EVENT_ARRIVE, .source = 1, .seq = i, .time_ms = 5, .hash = {i, i}};
    hx_event_base base = {0, 0};
    hx_buf buf = {0};
    assert_int_equal(hx_buf_reserve(&buf, IDS * HX_EVENT_BYTES_MAX), 0);
    hx_event_encode(&buf, &base, events, IDS);
    assert_true(buf.len < IDS * 16 + 32);
    hx_buf_free(&buf);
    free(events);
}

static void the_settings_of_a_domain_are_read_back(void **state)
{
    (void)state;
    hx_settings settings = {2000, HAPAX_FOREVER, 1, 5, 6, 7, 0};
    hx_settings got;
    const char *name;
    size_t name_len;
    hx_buf buf = {0};
    assert_int_equal(hx_buf_reserve(&buf, HX_DOMAIN_BLOB_MAX), 0);
    hx_event_write_domain(&buf, &settings, "orders", 6);
    assert_true(hx_event_read_domain(buf.data, buf.len, &got, &name, &name_len));
    assert_memory_equal(&got, &settings, sizeof got);
    assert_int_equal(name_len, 6);
    assert_memory_equal(name, "orders", 6);
    for (size_t len = 0; len < buf.len; len++)
        assert_false(hx_event_read_domain(buf.data, len, &got, &name, &name_len));
    hx_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_read_back_as_written),
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(blank_newer_and_foreign_are_told_apart),
        cmocka_unit_test(a_batch_spans_whole_blocks),
        cmocka_unit_test(records_are_read_back_as_written),
        cmocka_unit_test(cut_records_are_refused),
        cmocka_unit_test(an_id_in_a_run_costs_little_more_than_its_hash),
        cmocka_unit_test(the_settings_of_a_domain_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
