/*
 * value.h - the argument of an option to a value. Each returns 0, or -EINVAL after saying on stderr which option,
 * what was given and what would do. *ret is untouched then.
 */
#ifndef HX_APP_VALUE_H
#define HX_APP_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "app/log.h"

/*
 * 500ms 30s 2m 1h 7d. `endless`: a further word that gives INT64_MAX ("forever", "off"), or NULL. A bare number, 0 or
 * -1 is refused with a hint: in other products they mean opposite things. From least_ms to HX_VALUE_DURATION_MAX_MS.
 */
int hx_value_duration(const hx_log *log, const char *option, const char *text, const char *endless, int64_t least_ms,
                      int64_t *ret_ms);
#define HX_VALUE_DURATION_MAX_MS (INT64_C(1) << 50) /* what a store takes: 35,000 years */

/* 64KiB 10MiB 1GiB or plain bytes; at least `least`. */
int hx_value_size(const hx_log *log, const char *option, const char *text, int64_t least, int64_t *ret_bytes);

/* A whole number from least to most. */
int hx_value_number(const hx_log *log, const char *option, const char *text, int64_t least, int64_t most,
                    int64_t *ret);

/* One of `count` words; *ret is its index. The nearest one is suggested. */
int hx_value_word(const hx_log *log, const char *option, const char *text, const char *const *words, size_t count,
                  int *ret);

#endif
