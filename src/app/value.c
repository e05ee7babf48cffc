/*
 * value.c - the argument of an option to a value, or a message a person can act on.
 *
 * Words, not magic numbers: 0 and -1 as a duration mean "off", "for ever" or "at once" depending on the product one
 * comes from, so neither is guessed at.
 */
#include "app/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/suggest.h"
#include "base/text.h"

static bool looks_like_number(const char *text)
{
    if (*text == '-' || *text == '+')
        text++;
    return *text != '\0' && text[strspn(text, "0123456789.")] == '\0';
}

/* An empty word must be seen too. */
static const char *shown(const char *text)
{
    return *text != '\0' ? text : "''";
}

int hx_value_duration(const hx_log *log, const char *option, const char *text, const char *endless, int64_t least_ms,
                      int64_t *ret_ms)
{
    int64_t ms;
    if (endless != NULL && strcmp(text, endless) == 0) {
        *ret_ms = INT64_MAX;
        return 0;
    }
    int rc = hx_text_parse_duration_ms(text, strlen(text), &ms);
    const char *or_word = endless != NULL ? endless : "0ms";
    if (rc == 0 && ms >= least_ms && ms <= HX_VALUE_DURATION_MAX_MS) {
        *ret_ms = ms;
        return 0;
    }
    if (rc == 0 && ms < least_ms)
        hx_log_line(log, "%s %s is too short: at least %" PRId64 "ms, or %s", option, text, least_ms, or_word);
    else if (rc == 0 || rc == -ERANGE)
        hx_log_line(log, "%s %s is too long: at most %" PRId64 "d, or %s", option, text,
                    HX_VALUE_DURATION_MAX_MS / 86400000, or_word);
    else if (looks_like_number(text))
        hx_log_line(log, "%s %s: a bare number is not taken, say what you mean: 500ms, 30s, 2m, 1h, 7d or %s", option,
                    text, or_word);
    else
        hx_log_line(log, "%s %s is no duration; write 500ms, 30s, 2m, 1h, 7d or %s", option, shown(text), or_word);
    return -EINVAL;
}

int hx_value_size(const hx_log *log, const char *option, const char *text, int64_t least, int64_t *ret_bytes)
{
    int64_t bytes;
    int rc = hx_text_parse_size(text, strlen(text), &bytes);
    if (rc == 0 && bytes >= least) {
        *ret_bytes = bytes;
        return 0;
    }
    if (rc == 0)
        hx_log_line(log, "%s %s is too small: at least %" PRId64 " bytes", option, shown(text), least);
    else if (rc == -ERANGE)
        hx_log_line(log, "%s %s is out of range", option, shown(text));
    else
        hx_log_line(log, "%s %s is no size; write bytes, or 64KiB, 10MiB, 1GiB", option, shown(text));
    return -EINVAL;
}

int hx_value_number(const hx_log *log, const char *option, const char *text, int64_t least, int64_t most,
                    int64_t *ret)
{
    uint64_t value;
    int rc = hx_text_parse_u64(text, strlen(text), &value);
    if (rc == 0 && value <= INT64_MAX && (int64_t)value >= least && (int64_t)value <= most) {
        *ret = (int64_t)value;
        return 0;
    }
    hx_log_line(log, "%s %s is no number from %" PRId64 " to %" PRId64, option, shown(text), least, most);
    return -EINVAL;
}

int hx_value_word(const hx_log *log, const char *option, const char *text, const char *const *words, size_t count,
                  int *ret)
{
    char list[256] = "";
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret = (int)i;
            return 0;
        }
        const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        if (len < sizeof list)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", between, words[i]);
    }
    int nearest = hx_suggest_nearest(text, strlen(text), words, count);
    if (nearest >= 0)
        hx_log_line(log, "%s %s: did you mean %s? It takes %s", option, shown(text), words[nearest], list);
    else
        hx_log_line(log, "%s %s: it takes %s", option, shown(text), list);
    return -EINVAL;
}
