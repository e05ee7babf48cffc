/*
 * index.c - from the hash of an id to the order of its latest occurrence. The picture is in index.h.
 *
 * The one idea: two-choice buckets of a cache line under linear hashing, with slots that know their own alternatives:
 * position and tag together give the hash bits that growing and moving need, so neither reads the occurrence (but for
 * small tables, whose bucket numbers are shorter than the bits the tag leaves out).
 *
 *     address(x) = x mod 2^level, or mod 2^(level+1) where that bucket has been parted already
 *     buckets of a hash: address(h) and address(h ^ mix(tag)), with h = hash.lo
 *
 * Invariant: used <= 2/3 of the slots after a reserve; an id has one slot. Above that, buckets that have not been
 * parted yet in a round overflow too often: measured, 0.06 moves an insert at 2/3, 0.33 at 3/4.
 */
#include "core/index.h"

#include <assert.h>
#include <hapax.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SLOTS 8u
#define PAGE_BITS 15
#define PAGE_BUCKETS (UINT64_C(1) << PAGE_BITS)
#define FIRST_BUCKETS 8u
#define ORDER_BITS 40
#define TAG_SHIFT 8 /* hash bits below the tag */
#define TAG_MASK UINT64_C(0xffffff)
#define KICKS_MAX 64

struct hx_index_bucket {
    uint64_t slots[SLOTS];
};

static uint64_t slot_tag(uint64_t slot)
{
    return slot >> ORDER_BITS;
}

static uint64_t slot_order(uint64_t slot)
{
    return slot & HX_INDEX_ORDER_MAX;
}

static uint64_t hash_tag(hx_hash hash)
{
    return (hash.lo >> TAG_SHIFT) & TAG_MASK;
}

/* The distance, under exclusive-or, between the two raw bucket numbers of a tag. */
static uint64_t mix(uint64_t tag)
{
    return ((tag + 1) * UINT64_C(0x9E3779B97F4A7C15)) >> 20;
}

/*
 * Marks are one bit a slot, slot i at bit 2 * i: that is what the vector comparison gives, and only the lowest mark
 * is ever asked for.
 */
static unsigned first_marked(unsigned marks)
{
    return (unsigned)__builtin_ctz(marks) / 2;
}

#if defined(__SSE2__)
/* From four comparisons of two slots each, by 32-bit halves: a slot is equal where both its halves are. */
static unsigned marks_of(__m128i a, __m128i b, __m128i c, __m128i d)
{
    __m128i halves = _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
    unsigned bits = (unsigned)_mm_movemask_epi8(halves);
    return bits & (bits >> 1) & 0x5555;
}

static __m128i load_slots(const hx_index_bucket *bucket, unsigned pair)
{
    return _mm_load_si128((const __m128i *)&bucket->slots[2 * pair]);
}

static unsigned match_tag(const hx_index_bucket *bucket, uint64_t tag)
{
    const __m128i want = _mm_set1_epi64x((long long)tag);
    return marks_of(_mm_cmpeq_epi32(_mm_srli_epi64(load_slots(bucket, 0), ORDER_BITS), want),
                    _mm_cmpeq_epi32(_mm_srli_epi64(load_slots(bucket, 1), ORDER_BITS), want),
                    _mm_cmpeq_epi32(_mm_srli_epi64(load_slots(bucket, 2), ORDER_BITS), want),
                    _mm_cmpeq_epi32(_mm_srli_epi64(load_slots(bucket, 3), ORDER_BITS), want));
}

static unsigned match_free(const hx_index_bucket *bucket)
{
    const __m128i zero = _mm_setzero_si128();
    return marks_of(_mm_cmpeq_epi32(load_slots(bucket, 0), zero), _mm_cmpeq_epi32(load_slots(bucket, 1), zero),
                    _mm_cmpeq_epi32(load_slots(bucket, 2), zero), _mm_cmpeq_epi32(load_slots(bucket, 3), zero));
}
#else
static unsigned match_tag(const hx_index_bucket *bucket, uint64_t tag)
{
    unsigned marks = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        marks |= (unsigned)(slot_tag(bucket->slots[i]) == tag) << 2 * i;
    return marks;
}

static unsigned match_free(const hx_index_bucket *bucket)
{
    unsigned marks = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        marks |= (unsigned)(bucket->slots[i] == 0) << 2 * i;
    return marks;
}
#endif

static uint64_t bucket_count(const hx_index *index)
{
    return index->level_mask + 1 + index->split;
}

static uint64_t address(const hx_index *index, uint64_t raw)
{
    uint64_t at = raw & index->level_mask;
    return at < index->split ? raw & (index->level_mask * 2 + 1) : at;
}

static hx_index_bucket *bucket_at(const hx_index *index, uint64_t at)
{
    return &index->pages[at >> PAGE_BITS][at & (PAGE_BUCKETS - 1)];
}

void hx_index_init(hx_index *index, hx_memory *memory, const hx_entries *entries)
{
    *index = (hx_index){.memory = memory, .entries = entries};
}

void hx_index_free(hx_index *index)
{
    for (size_t i = 0; i < index->pages_len; i++) {
        uint64_t buckets = index->pages_len == 1 ? index->first_page_buckets : PAGE_BUCKETS;
        hx_memory_free(index->memory, index->pages[i], buckets * sizeof(hx_index_bucket));
    }
    hx_memory_free(index->memory, index->pages, index->pages_cap * sizeof *index->pages);
    *index = (hx_index){0};
}

/* Makes the first page hold `buckets`, by doubling; bucket numbers stay. */
static int grow_first_page(hx_index *index, uint64_t buckets)
{
    uint64_t want = index->first_page_buckets == 0 ? FIRST_BUCKETS : index->first_page_buckets;
    while (want < buckets)
        want *= 2;
    if (want == index->first_page_buckets)
        return HAPAX_OK;
    hx_index_bucket *page = hx_memory_alloc_aligned(index->memory, sizeof(hx_index_bucket), want * sizeof *page);
    if (page == NULL)
        return hx_memory_failure(index->memory);
    if (index->first_page_buckets > 0)
        memcpy(page, index->pages[0], index->first_page_buckets * sizeof *page);
    hx_memory_free(index->memory, index->pages[0], index->first_page_buckets * sizeof *page);
    index->pages[0] = page;
    index->first_page_buckets = want;
    return HAPAX_OK;
}

/* Makes sure that buckets 0 to buckets - 1 have memory. */
static int reserve_pages(hx_index *index, uint64_t buckets)
{
    size_t len = (size_t)((buckets + PAGE_BUCKETS - 1) >> PAGE_BITS);
    if (len > index->pages_cap) {
        size_t cap = index->pages_cap == 0 ? 1 : index->pages_cap;
        while (cap < len)
            cap *= 2;
        hx_index_bucket **pages =
            hx_memory_resize(index->memory, index->pages, index->pages_cap * sizeof *pages, cap * sizeof *pages);
        if (pages == NULL)
            return hx_memory_failure(index->memory);
        index->pages = pages;
        index->pages_cap = cap;
    }
    if (index->pages_len == 0) {
        index->pages[0] = NULL;
        index->pages_len = 1;
    }
    int rc = grow_first_page(index, buckets < PAGE_BUCKETS ? buckets : PAGE_BUCKETS);
    if (rc < 0)
        return rc;
    while (index->pages_len < len) {
        hx_index_bucket *page =
            hx_memory_alloc_aligned(index->memory, PAGE_BUCKETS * sizeof *page, PAGE_BUCKETS * sizeof *page);
        if (page == NULL)
            return hx_memory_failure(index->memory);
        index->pages[index->pages_len++] = page;
    }
    return HAPAX_OK;
}

static bool slot_gone(const hx_index *index, uint64_t slot)
{
    hx_entry entry;
    return !hx_entries_get(index->entries, slot_order(slot), &entry);
}

/*
 * The first raw bucket number of a slot in bucket `at`, as far as position and tag tell: right in its lowest level +
 * 1 bits. Which of its two buckets `at` is shows by the bits that position and tag have in common; where they leave
 * it open the occurrence is asked. False where it is gone.
 */
static bool slot_raw(const hx_index *index, uint64_t at, uint64_t slot, uint64_t *ret_raw)
{
    uint64_t tag = slot_tag(slot);
    uint64_t known = tag << TAG_SHIFT;
    uint64_t wide_mask = index->level_mask * 2 + 1;
    uint64_t common = index->level_mask & (TAG_MASK << TAG_SHIFT);
    uint64_t low = (UINT64_C(1) << TAG_SHIFT) - 1;
    bool first = ((at ^ known) & common) == 0;
    bool second = ((at ^ mix(tag) ^ known) & common) == 0;
    if (first != second && wide_mask <= (TAG_MASK << TAG_SHIFT | low)) {
        uint64_t position = first ? at : at ^ mix(tag);
        *ret_raw = known | (position & low);
        return true;
    }
    hx_entry entry;
    if (!hx_entries_get(index->entries, slot_order(slot), &entry))
        return false;
    *ret_raw = entry.hash.lo;
    return true;
}

/* Parts bucket `split` in two. Its upper half has memory and is empty. */
static void split_bucket(hx_index *index)
{
    uint64_t at = index->split;
    uint64_t upper = at + index->level_mask + 1;
    hx_index_bucket *from = bucket_at(index, at);
    hx_index_bucket *to = bucket_at(index, upper);
    uint64_t wide_mask = index->level_mask * 2 + 1;
    unsigned moved = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t slot = from->slots[i];
        if (slot == 0)
            continue;
        uint64_t raw;
        if (!slot_raw(index, at, slot, &raw)) {
            from->slots[i] = 0;
            index->used--;
            continue;
        }
        bool here_by_first = (raw & index->level_mask) == at;
        uint64_t wide = (here_by_first ? raw : raw ^ mix(slot_tag(slot))) & wide_mask;
        if (wide == upper) {
            to->slots[moved++] = slot;
            from->slots[i] = 0;
        }
    }
    index->split++;
    if (index->split > index->level_mask) {
        index->split = 0;
        index->level_mask = wide_mask;
    }
}

int hx_index_reserve(hx_index *index, size_t n)
{
    uint64_t buckets = index->pages_len == 0 || index->first_page_buckets == 0 ? 0 : bucket_count(index);
    uint64_t want = (index->used + n) * 3 / 2 / SLOTS + 1;
    if (buckets >= want)
        return HAPAX_OK;
    if (want < FIRST_BUCKETS)
        want = FIRST_BUCKETS;
    int rc = reserve_pages(index, want);
    if (rc < 0)
        return rc;
    if (buckets == 0)
        index->level_mask = FIRST_BUCKETS - 1;
    while (bucket_count(index) < want)
        split_bucket(index);
    return HAPAX_OK;
}

void hx_index_prefetch(const hx_index *index, hx_hash hash)
{
    if (index->pages_len == 0)
        return;
    __builtin_prefetch(bucket_at(index, address(index, hash.lo)));
    __builtin_prefetch(bucket_at(index, address(index, hash.lo ^ mix(hash_tag(hash)))));
}

uint64_t hx_index_find(const hx_index *index, hx_hash hash, hx_index_slot *ret_slot)
{
    if (index->pages_len == 0)
        return 0;
    uint64_t tag = hash_tag(hash);
    uint64_t raw = hash.lo;
    for (int choice = 0; choice < 2; choice++) {
        hx_index_bucket *bucket = bucket_at(index, address(index, raw));
        for (unsigned marks = match_tag(bucket, tag); marks != 0; marks &= marks - 1) {
            uint64_t *slot = &bucket->slots[first_marked(marks)];
            if (*slot == 0 || !hx_entries_is(index->entries, slot_order(*slot), hash))
                continue;
            if (ret_slot != NULL)
                *ret_slot = slot;
            return slot_order(*slot);
        }
        raw ^= mix(tag);
    }
    return 0;
}

static unsigned drop_gone(hx_index *index, hx_index_bucket *bucket)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (bucket->slots[i] != 0 && slot_gone(index, bucket->slots[i])) {
            bucket->slots[i] = 0;
            index->used--;
            n++;
        }
    }
    return n;
}

/* Puts a slot into the emptier of the two buckets of raw; false where both are full of slots that are not gone. */
static bool place(hx_index *index, uint64_t raw, uint64_t slot)
{
    hx_index_bucket *a = bucket_at(index, address(index, raw));
    hx_index_bucket *b = bucket_at(index, address(index, raw ^ mix(slot_tag(slot))));
    unsigned free_a = match_free(a);
    unsigned free_b = match_free(b);
    if ((free_a | free_b) == 0) {
        if (index->used - 1 <= index->live || drop_gone(index, a) + drop_gone(index, b) == 0)
            return false;
        free_a = match_free(a);
        free_b = match_free(b);
    }
    /* Slots are taken from the low end, so the bucket whose first free one is lower is the emptier, near enough. */
    const unsigned none = 1u << 2 * SLOTS;
    if (__builtin_ctz(free_a | none) <= __builtin_ctz(free_b | none))
        a->slots[first_marked(free_a)] = slot;
    else
        b->slots[first_marked(free_b)] = slot;
    return true;
}

/*
 * Both buckets are full: takes the place of a slot that lives there, which then goes to its other bucket, and so on.
 * The victim rotates with the number of kicks. At two thirds full a way out is found in one or two steps.
 */
static void kick(hx_index *index, uint64_t raw, uint64_t slot)
{
    uint64_t at = address(index, raw);
    for (int i = 0; i < KICKS_MAX; i++) {
        uint64_t *victim = &bucket_at(index, at)->slots[index->kicks++ % SLOTS];
        uint64_t evicted = *victim;
        *victim = slot;
        uint64_t evicted_raw;
        if (!slot_raw(index, at, evicted, &evicted_raw)) {
            index->used--;
            return;
        }
        if (place(index, evicted_raw, evicted))
            return;
        uint64_t first = address(index, evicted_raw);
        at = first == at ? address(index, evicted_raw ^ mix(slot_tag(evicted))) : first;
        slot = evicted;
    }
    /* 64 full pairs of buckets in a row at two thirds full: with a keyed hash this does not happen. */
    assert(!"the index found no room");
}

void hx_index_insert(hx_index *index, hx_hash hash, uint64_t order)
{
    assert(order > 0 && order <= HX_INDEX_ORDER_MAX);
    uint64_t slot = hash_tag(hash) << ORDER_BITS | order;
    index->used++;
    index->live++;
    if (!place(index, hash.lo, slot))
        kick(index, hash.lo, slot);
}

void hx_index_update(hx_index_slot slot, uint64_t order)
{
    assert(order > 0 && order <= HX_INDEX_ORDER_MAX);
    *slot = slot_tag(*slot) << ORDER_BITS | order;
}

void hx_index_remove(hx_index *index, hx_index_slot slot)
{
    *slot = 0;
    index->used--;
    index->live--;
}

void hx_index_forgot(hx_index *index)
{
    index->live--;
}

void hx_index_sweep(hx_index *index, size_t buckets)
{
    for (size_t i = 0; i < buckets && (index->used - index->live) * 5 > index->used; i++) {
        if (index->sweep >= bucket_count(index))
            index->sweep = 0;
        drop_gone(index, bucket_at(index, index->sweep++));
    }
}
