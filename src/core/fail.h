/*
 * fail.h - filling in a caller's hapax_error.
 */
#ifndef HX_FAIL_H
#define HX_FAIL_H

#include <hapax.h>

/*
 * Fills *ret_error (NULL is fine) with a status and a sentence, and returns the status. The sentence is made before
 * anything is stored, so an argument may point into *ret_error.
 */
int hx_fail(hapax_error *ret_error, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for a failed call of the os table: ENOSPC, EDQUOT and EFBIG are FULL, ENOMEM is MEMORY, the rest is IO. */
int hx_fail_os(hapax_error *ret_error, int os_error, const char *what, const char *path);

/* Damage in a file, at an offset. */
int hx_fail_damaged(hapax_error *ret_error, const char *path, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * For clang's analyzer alone, which sees one file at a time: a failure is negative. Without this it takes every one
 * for a possible success and reports what would then be without a value.
 */
#if defined(__clang_analyzer__) && !defined(HX_FAIL_IS_DEFINED_HERE)
static inline int hx_fail_negative(int rc)
{
    if (rc >= 0)
        __builtin_unreachable();
    return rc;
}
#define hx_fail(...) hx_fail_negative(hx_fail(__VA_ARGS__))
#define hx_fail_os(...) hx_fail_negative(hx_fail_os(__VA_ARGS__))
#define hx_fail_damaged(...) hx_fail_negative(hx_fail_damaged(__VA_ARGS__))
#endif

/* Copies a path to the 256 bytes that errors and reports have for it; of a longer one the end, which tells more. */
void hx_fail_path(char to[256], const char *path);

#endif
