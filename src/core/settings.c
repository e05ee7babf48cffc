/*
 * settings.c - the settings of a domain: defaults, limits, and what a change is called.
 *
 * The one idea: one table of the settings, in the order of hapax_domain_options, from which merging, checking and
 * messages come. To add a setting: a field in hapax_domain_options and hx_settings, a row here, a varint in
 * hx_event_write_domain.
 */
#include <inttypes.h>
#include <stddef.h>

#include "core/fail.h"
#include "core/store.h"

#define TIME_MAX_MS (INT64_C(1) << 50) /* longer than any clock runs; below it no sum of times overflows */

typedef struct setting_row {
    const char *name;
    size_t option;  /* offset in hapax_domain_options */
    size_t setting; /* offset in hx_settings */
    int64_t initial, min, max;
    bool forever; /* HAPAX_FOREVER is taken too */
} setting_row;

#define ROW(field, initial, min, max, forever)                                                                       \
    {                                                                                                                \
#field, offsetof(hapax_domain_options, field), offsetof(hx_settings, field), initial, min, max, forever      \
    }

static const setting_row rows[] = {
    ROW(window, 2000, 0, HAPAX_WINDOW_MAX, false),
    ROW(expiry_ms, 120000, 0, TIME_MAX_MS, true),
    ROW(refresh, 1, 0, 1, false),
    ROW(max_age_ms, HAPAX_FOREVER, 1, TIME_MAX_MS, true),
    ROW(source_idle_ms, HAPAX_FOREVER, 1, TIME_MAX_MS, true),
    ROW(max_sources, 65536, 1, 16777216, false),
    ROW(max_step_ms, HAPAX_FOREVER, 0, TIME_MAX_MS, true),
};

#define ROWS (sizeof rows / sizeof *rows)

static int64_t get(const void *base, size_t offset)
{
    return *(const int64_t *)((const char *)base + offset);
}

static void set(void *base, size_t offset, int64_t value)
{
    *(int64_t *)((char *)base + offset) = value;
}

static bool in_range(const setting_row *row, int64_t value)
{
    return (row->forever && value == HAPAX_FOREVER) || (value >= row->min && value <= row->max);
}

int hx_settings_merge(const hx_settings *stored, const hapax_domain_options *options, hx_settings *ret_settings,
                      unsigned *ret_changed, hapax_error *ret_error)
{
    hx_settings settings = {0};
    unsigned changed = 0;
    for (size_t i = 0; i < ROWS; i++) {
        int64_t before = stored == NULL ? rows[i].initial : get(stored, rows[i].setting);
        int64_t asked = options == NULL ? HAPAX_UNSET : get(options, rows[i].option);
        int64_t value = asked == HAPAX_UNSET ? before : asked;
        if (!in_range(&rows[i], value))
            return hx_fail(ret_error, HAPAX_ERR_INVALID,
                           "%s is %" PRId64 "; it must be from %" PRId64 " to %" PRId64 "%s", rows[i].name, value,
                           rows[i].min, rows[i].max, rows[i].forever ? ", or HAPAX_FOREVER" : "");
        set(&settings, rows[i].setting, value);
        changed |= value != before ? 1u << i : 0;
    }
    if (settings.window == 0 && settings.expiry_ms == 0)
        return hx_fail(ret_error, HAPAX_ERR_INVALID, "window and expiry_ms are both 0: nothing would be remembered");
    *ret_settings = settings;
    *ret_changed = stored == NULL ? 0 : changed;
    return HAPAX_OK;
}

bool hx_settings_valid(const hx_settings *settings)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!in_range(&rows[i], get(settings, rows[i].setting)))
            return false;
    return settings->window != 0 || settings->expiry_ms != 0;
}

bool hx_settings_differ(const hx_settings *a, const hx_settings *b, const char **ret_name, int64_t *ret_a,
                        int64_t *ret_b)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (get(a, rows[i].setting) == get(b, rows[i].setting))
            continue;
        *ret_name = rows[i].name;
        *ret_a = get(a, rows[i].setting);
        *ret_b = get(b, rows[i].setting);
        return true;
    }
    return false;
}

void hapax_domain_options_init(hapax_domain_options *options)
{
    *options = (hapax_domain_options){.size = sizeof *options};
    for (size_t i = 0; i < ROWS; i++)
        set(options, rows[i].option, HAPAX_UNSET);
}

void hapax_domain_settings(hapax_domain *domain, hapax_domain_options *ret_options, unsigned *ret_changed)
{
    *ret_options = (hapax_domain_options){.size = sizeof *ret_options};
    pthread_mutex_lock(&domain->lock);
    for (size_t i = 0; i < ROWS; i++)
        set(ret_options, rows[i].option, get(&domain->window.settings, rows[i].setting));
    if (ret_changed != NULL)
        *ret_changed = domain->changed;
    pthread_mutex_unlock(&domain->lock);
}
