/*
 * window.c - the windowed policy. The picture is in window.h.
 *
 * The one idea: an occurrence never moves. Going from a window to the time queue is a change of two bits, and being
 * forgotten is a comparison with the floor.
 * Invariants: of the occurrences of an id at most one is in the time queue, the newest of those that ever entered it;
 * the index leads to the latest occurrence, older.h holds the others, and all of them carry HX_ENTRY_SHARED exactly
 * while there is more than one.
 */
#include "core/window.h"

#include <assert.h>
#include <hapax.h>

#define EXPIRE_STEPS 8 /* freed per arrival: more than one, so that a backlog shrinks */
#define SWEEP_BUCKETS 2

void hx_window_init(hx_window *window, hx_memory *memory, const hx_settings *settings, const unsigned char key[16],
                    uint32_t first_claim_use)
{
    *window = (hx_window){.memory = memory, .settings = *settings, .floor_ms = INT64_MIN, .expire_order = 1};
    hx_entries_init(&window->entries, memory);
    hx_index_init(&window->index, memory, &window->entries);
    hx_sources_init(&window->sources, memory, key);
    hx_older_init(&window->older, memory);
    hx_claims_init(&window->claims, memory, first_claim_use);
    hx_stamps_init(&window->stamps, memory);
}

void hx_window_free(hx_window *window)
{
    hx_entries_free(&window->entries);
    hx_index_free(&window->index);
    hx_sources_free(&window->sources);
    hx_older_free(&window->older);
    hx_claims_free(&window->claims);
    hx_stamps_free(&window->stamps);
}

int hx_window_reserve(hx_window *window, size_t n)
{
    if (window->entries.next_order + n > HX_INDEX_ORDER_MAX)
        return HAPAX_ERR_FULL;
    int rc = hx_entries_reserve(&window->entries, n);
    if (rc < 0)
        return rc;
    rc = hx_index_reserve(&window->index, n);
    if (rc < 0)
        return rc;
    /* All messages of a call have one moment, so a call notes at most one stamp; two are room enough. */
    hx_stamps_trim(&window->stamps, hx_entries_next(&window->entries, 1));
    rc = hx_stamps_reserve(&window->stamps, 2);
    if (rc < 0)
        return rc;
    return hx_older_reserve(&window->older, n);
}

int hx_window_reserve_source(hx_window *window, uint32_t source)
{
    if (window->settings.window == 0 || source == HX_SOURCE_NONE)
        return HAPAX_OK;
    return hx_sources_reserve_place(&window->sources, &window->entries, source, (uint32_t)window->settings.window);
}

static uint8_t held_by(const hx_entry *entry)
{
    return entry->state & HX_ENTRY_STATE;
}

bool hx_window_fell(const hx_window *window, const hx_entry *entry)
{
    return held_by(entry) == HX_ENTRY_IN_QUEUE && entry->time_ms < window->floor_ms;
}

/* An occurrence that is known to be there. */
static hx_entry get_entry(const hx_window *window, uint64_t order)
{
    hx_entry entry;
    bool there = hx_entries_get(&window->entries, order, &entry);
    assert(there);
    (void)there;
    return entry;
}

static void set_state(hx_window *window, uint64_t order, uint8_t held, uint8_t flags)
{
    hx_entries_set_state(&window->entries, order, held | flags);
}

static void clear_shared(hx_window *window, uint64_t order)
{
    hx_entry entry = get_entry(window, order);
    set_state(window, order, held_by(&entry), 0);
}

/* The number of windows that hold an id, given its latest occurrence. */
static uint32_t windows_of(const hx_window *window, const hx_entry *latest)
{
    uint32_t n = held_by(latest) == HX_ENTRY_IN_WINDOW;
    if (latest->state & HX_ENTRY_SHARED)
        n += hx_older_windows(&window->older, latest->hash);
    return n;
}

/* The last occurrence of an id has gone. */
static void id_gone(hx_window *window, hx_hash hash)
{
    hx_index_forgot(&window->index);
    hx_claim *claim = hx_claims_find(&window->claims, hash);
    if (claim != NULL)
        hx_claims_set_held(&window->claims, claim, false);
}

/* Frees an occurrence that is not counted in a window or the queue any more; `entry` is how it was registered. */
static void drop(hx_window *window, uint64_t order, const hx_entry *entry)
{
    if (entry->state & HX_ENTRY_SHARED) {
        hx_index_slot slot = NULL;
        uint64_t latest = hx_index_find(&window->index, entry->hash, &slot);
        bool was_last = false;
        uint64_t left = latest;
        if (latest == order) {
            left = hx_older_take_latest(&window->older, entry->hash, &was_last);
            hx_index_update(slot, left);
        } else {
            was_last =
                hx_older_remove(&window->older, entry->hash, entry->source, held_by(entry) == HX_ENTRY_IN_WINDOW);
        }
        if (was_last)
            clear_shared(window, left);
    } else {
        id_gone(window, entry->hash);
    }
    hx_entries_set_state(&window->entries, order, HX_ENTRY_DEAD);
    hx_sources_unref(&window->sources, entry->source);
}

/* Takes an occurrence out of its window's counts. */
static void leave_counts(hx_window *window, const hx_entry *entry)
{
    uint32_t windows = 1;
    if (entry->state & HX_ENTRY_SHARED) {
        hx_entry latest = get_entry(window, hx_index_find(&window->index, entry->hash, NULL));
        windows = windows_of(window, &latest);
    }
    if (windows == 1)
        window->window_ids--;
    hx_sources_left(&window->sources, entry->source);
}

/* Frees an occurrence, wherever it is. */
static void drop_held(hx_window *window, uint64_t order)
{
    hx_entry entry = get_entry(window, order);
    if (held_by(&entry) == HX_ENTRY_IN_WINDOW)
        leave_counts(window, &entry);
    else
        window->in_queue--;
    drop(window, order, &entry);
}

/*
 * Of a shared id's occurrences only the newest in the queue is kept. Makes room there for `order`: false where a
 * newer one is in the queue already.
 */
static bool make_only_queued(hx_window *window, uint64_t order, const hx_entry *entry)
{
    uint64_t latest = hx_index_find(&window->index, entry->hash, NULL);
    uint64_t queued = hx_older_in_queue(&window->older, entry->hash);
    if (latest != order) {
        hx_entry top = get_entry(window, latest);
        if (held_by(&top) == HX_ENTRY_IN_QUEUE)
            queued = latest;
    }
    if (queued > order)
        return false;
    if (queued != 0)
        drop_held(window, queued);
    return true;
}

/* The occurrence, which its window's counts have let go, enters the time queue: rules 4 and 5. */
static void enter_queue(hx_window *window, uint64_t order, const hx_entry *entry)
{
    if (!window->has_newest || entry->time_ms > window->newest_ms) {
        window->has_newest = true;
        window->newest_ms = entry->time_ms;
        int64_t expiry_ms = window->settings.expiry_ms;
        if (expiry_ms != HAPAX_FOREVER && window->newest_ms - expiry_ms > window->floor_ms)
            window->floor_ms = window->newest_ms - expiry_ms;
    }
    bool forgotten = window->settings.expiry_ms == 0 || entry->time_ms < window->floor_ms;
    uint8_t shared = entry->state & HX_ENTRY_SHARED;
    if (!forgotten && shared) {
        forgotten = !make_only_queued(window, order, entry);
        hx_entry now = get_entry(window, order); /* it may be alone now */
        shared = now.state & HX_ENTRY_SHARED;
    }
    if (forgotten) {
        drop(window, order, entry);
        return;
    }
    if (shared && hx_index_find(&window->index, entry->hash, NULL) != order)
        hx_older_to_queue(&window->older, entry->hash, entry->source);
    set_state(window, order, HX_ENTRY_IN_QUEUE, shared);
    window->in_queue++;
}

static void leave_window(hx_window *window, uint64_t order, const hx_entry *entry)
{
    leave_counts(window, entry);
    enter_queue(window, order, entry);
}

/* The oldest occurrence of a window leaves it. */
static void leave_oldest(hx_window *window, uint32_t source)
{
    hx_entry entry;
    uint64_t order = hx_sources_pop(&window->sources, &window->entries, source, &entry);
    leave_window(window, order, &entry);
}

uint64_t hx_window_find(hx_window *window, hx_hash hash, int64_t now_age_ms, bool *ret_too_old)
{
    uint64_t order;
    hx_entry entry;
    *ret_too_old = false;
    for (;;) {
        order = hx_index_find(&window->index, hash, NULL);
        if (order == 0)
            return 0;
        entry = get_entry(window, order);
        if (!hx_window_fell(window, &entry))
            break;
        drop_held(window, order);
    }
    if (window->settings.max_age_ms == HAPAX_FOREVER || hx_claims_find(&window->claims, hash) != NULL)
        return order;
    int64_t wall_ms, age_ms;
    hx_stamps_get(&window->stamps, order, entry.time_ms, &wall_ms, &age_ms);
    *ret_too_old = now_age_ms - age_ms > window->settings.max_age_ms;
    return *ret_too_old ? 0 : order;
}

typedef struct latest_held {
    uint64_t order;
    hx_entry entry;
} latest_held;

static bool keep_latest(void *arg, uint64_t order, const hx_entry *entry)
{
    latest_held *held = arg;
    held->order = order;
    held->entry = *entry;
    return true;
}

uint64_t hx_window_peek(const hx_window *window, hx_hash hash, int64_t now_age_ms)
{
    latest_held held = {0};
    hx_window_each(window, hash, keep_latest, &held);
    if (held.order == 0 || window->settings.max_age_ms == HAPAX_FOREVER ||
        hx_claims_find(&window->claims, hash) != NULL)
        return held.order;
    int64_t wall_ms, age_ms;
    hx_stamps_get(&window->stamps, held.order, held.entry.time_ms, &wall_ms, &age_ms);
    return now_age_ms - age_ms > window->settings.max_age_ms ? 0 : held.order;
}

/* The occurrence of an id in the window of `source`, or 0. */
static uint64_t find_in_window(const hx_window *window, uint64_t latest, const hx_entry *entry, uint32_t source)
{
    if (source == HX_SOURCE_NONE)
        return 0;
    if (held_by(entry) == HX_ENTRY_IN_WINDOW && entry->source == source)
        return latest;
    return entry->state & HX_ENTRY_SHARED ? hx_older_in_window(&window->older, entry->hash, source) : 0;
}

/* Whether an arrival from this source goes to a window of its own. */
static bool has_window(const hx_window *window, uint32_t source)
{
    if (window->settings.window == 0 || source == HX_SOURCE_NONE)
        return false;
    return window->sources.items[source].live > 0 || window->sources.with_window < window->settings.max_sources;
}

/* Registers the new occurrence of an id that was held: `latest` becomes an older one. */
static void add_over(hx_window *window, hx_hash hash, uint64_t order, uint64_t latest, const hx_entry *latest_entry)
{
    hx_index_slot slot = NULL;
    uint64_t found = hx_index_find(&window->index, hash, &slot);
    assert(found == latest);
    (void)found;
    hx_index_update(slot, order);
    bool in_window = held_by(latest_entry) == HX_ENTRY_IN_WINDOW;
    hx_older_add(&window->older, hash, latest, latest_entry->source, in_window);
    if (!(latest_entry->state & HX_ENTRY_SHARED))
        set_state(window, latest, held_by(latest_entry), HX_ENTRY_SHARED);
}

static void add_alone(hx_window *window, hx_hash hash, uint64_t order)
{
    hx_index_insert(&window->index, hash, order);
    hx_claim *claim = hx_claims_find(&window->claims, hash);
    if (claim != NULL)
        hx_claims_set_held(&window->claims, claim, true);
}

bool hx_window_arrive(hx_window *window, hx_hash hash, uint32_t source, const hx_moment *moment, uint64_t latest)
{
    hx_entry latest_entry = {0};
    uint64_t renewed = 0;
    bool windowed = has_window(window, source);
    bool in_some_window = false;
    if (latest != 0) {
        latest_entry = get_entry(window, latest);
        renewed = find_in_window(window, latest, &latest_entry, source);
        in_some_window = windows_of(window, &latest_entry) > 0;
    }
    /* Above max_sources names are not kept: a source that is new with every message must not fill memory. */
    bool keep_name = windowed || window->settings.window == 0;
    hx_entry entry = {hash, moment->time_ms, keep_name ? source : HX_SOURCE_NONE,
                      (uint8_t)(HX_ENTRY_IN_WINDOW | (latest != 0 ? HX_ENTRY_SHARED : 0))};
    uint64_t order = hx_entries_append(&window->entries, &entry);
    hx_stamps_note(&window->stamps, order, moment);
    hx_sources_ref(&window->sources, entry.source);
    if (latest != 0)
        add_over(window, hash, order, latest, &latest_entry);
    else
        add_alone(window, hash, order);
    window->has_last = true;
    window->last_ms = moment->time_ms;
    if (windowed) {
        hx_sources_push(&window->sources, &window->entries, source, order, moment->activity_ms);
        window->window_ids += !in_some_window;
        if (renewed != 0) {
            hx_entry left = get_entry(window, renewed);
            leave_window(window, renewed, &left);
        }
        while (window->sources.items[source].live > window->settings.window)
            leave_oldest(window, source);
    } else {
        enter_queue(window, order, &entry);
    }
    hx_window_expire(window, EXPIRE_STEPS);
    return windowed || window->settings.window == 0;
}

void hx_window_forget(hx_window *window, hx_hash hash)
{
    for (;;) {
        uint64_t order = hx_index_find(&window->index, hash, NULL);
        if (order == 0)
            return;
        drop_held(window, order);
    }
}

static void empty_source(hx_window *window, uint32_t source)
{
    hx_sources_ref(&window->sources, source); /* it must not go while it is being emptied */
    while (window->sources.items[source].live > 0)
        leave_oldest(window, source);
    hx_sources_unref(&window->sources, source);
}

bool hx_window_empty_idle(hx_window *window, int64_t activity_ms)
{
    bool any = false;
    if (window->settings.source_idle_ms == HAPAX_FOREVER)
        return false;
    while (window->sources.silent != HX_SOURCE_NONE) {
        uint32_t source = window->sources.silent;
        if (activity_ms - window->sources.items[source].activity_ms < window->settings.source_idle_ms)
            break;
        empty_source(window, source);
        any = true;
    }
    return any;
}

void hx_window_expire(hx_window *window, size_t steps)
{
    if (window->floor_ms == INT64_MIN)
        steps = 0; /* nothing has ever fallen */
    for (size_t i = 0; i < steps; i++) {
        if (window->expire_order >= window->entries.next_order)
            break;
        uint64_t order = hx_entries_next(&window->entries, window->expire_order);
        if (order == 0) {
            window->expire_order = window->entries.next_order;
            break;
        }
        hx_entry entry = get_entry(window, order);
        window->expire_order = order; /* what is gone below it is not walked over again */
        if (entry.time_ms >= window->floor_ms)
            break;
        window->expire_order = order + 1;
        if (held_by(&entry) == HX_ENTRY_IN_QUEUE)
            drop_held(window, order);
    }
    hx_index_sweep(&window->index, SWEEP_BUCKETS);
}

/* Whether some occurrence that `judge` names is held. */
static bool any_held(const hx_window *window, bool (*judge)(const hx_window *, uint64_t, const hx_entry *, int64_t),
                     int64_t limit)
{
    for (uint64_t order = hx_entries_next(&window->entries, 1); order != 0;
         order = hx_entries_next(&window->entries, order + 1)) {
        hx_entry entry = get_entry(window, order);
        if (!hx_window_fell(window, &entry) && judge(window, order, &entry, limit))
            return true;
    }
    return false;
}

static bool is_queued_below(const hx_window *window, uint64_t order, const hx_entry *entry, int64_t limit)
{
    (void)window;
    (void)order;
    return held_by(entry) == HX_ENTRY_IN_QUEUE && entry->time_ms < limit;
}

static bool is_older_than(const hx_window *window, uint64_t order, const hx_entry *entry, int64_t limit)
{
    int64_t wall_ms, age_ms;
    hx_stamps_get(&window->stamps, order, entry->time_ms, &wall_ms, &age_ms);
    return age_ms < limit;
}

bool hx_window_settings_push(hx_window *window, const hx_settings *settings, int64_t now_age_ms,
                             int64_t now_activity_ms)
{
    const hx_settings *now = &window->settings;
    const hx_sources *sources = &window->sources;
    for (uint32_t at = sources->silent; at != HX_SOURCE_NONE; at = sources->items[at].newer)
        if (sources->items[at].live > settings->window)
            return true;
    if (settings->source_idle_ms < now->source_idle_ms && sources->silent != HX_SOURCE_NONE &&
        now_activity_ms - sources->items[sources->silent].activity_ms >= settings->source_idle_ms)
        return true;
    if (settings->expiry_ms < now->expiry_ms && window->has_newest) {
        int64_t limit = settings->expiry_ms == 0 ? INT64_MAX : window->newest_ms - settings->expiry_ms;
        if (any_held(window, is_queued_below, limit))
            return true;
    }
    return settings->max_age_ms < now->max_age_ms &&
           any_held(window, is_older_than, now_age_ms - settings->max_age_ms);
}

void hx_window_set(hx_window *window, const hx_settings *settings)
{
    bool queue_ends = settings->expiry_ms == 0 && window->settings.expiry_ms != 0;
    window->settings = *settings;
    if (window->has_newest && settings->expiry_ms != HAPAX_FOREVER &&
        window->newest_ms - settings->expiry_ms > window->floor_ms)
        window->floor_ms = window->newest_ms - settings->expiry_ms;
    for (uint32_t at = window->sources.silent; at != HX_SOURCE_NONE;) {
        uint32_t next = window->sources.items[at].newer;
        while (window->sources.items[at].live > settings->window)
            leave_oldest(window, at);
        at = next;
    }
    hx_window_expire(window, SIZE_MAX);
    if (!queue_ends)
        return;
    for (uint64_t order = hx_entries_next(&window->entries, 1); order != 0;
         order = hx_entries_next(&window->entries, order + 1)) {
        hx_entry entry = get_entry(window, order);
        if (held_by(&entry) == HX_ENTRY_IN_QUEUE)
            drop_held(window, order);
    }
}

typedef struct each_older {
    const hx_window *window;
    bool (*visit)(void *arg, uint64_t order, const hx_entry *entry);
    void *arg;
    bool stopped;
} each_older;

static bool visit_held(void *arg, uint64_t order)
{
    each_older *each = arg;
    hx_entry entry = get_entry(each->window, order);
    if (!hx_window_fell(each->window, &entry))
        each->stopped = !each->visit(each->arg, order, &entry);
    return !each->stopped;
}

void hx_window_each(const hx_window *window, hx_hash hash,
                    bool (*visit)(void *arg, uint64_t order, const hx_entry *entry), void *arg)
{
    uint64_t latest = hx_index_find(&window->index, hash, NULL);
    if (latest == 0)
        return;
    hx_entry entry = get_entry(window, latest);
    each_older each = {window, visit, arg, false};
    if (entry.state & HX_ENTRY_SHARED)
        hx_older_each(&window->older, hash, visit_held, &each);
    if (!each.stopped)
        (void)visit_held(&each, latest);
}
