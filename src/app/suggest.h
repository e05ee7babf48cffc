/* suggest.h - the nearest known name to a misspelt one. */
#ifndef HX_APP_SUGGEST_H
#define HX_APP_SUGGEST_H

#include <stddef.h>

/*
 * Which of the `count` names (a NULL among them is skipped) is nearest to text[0, len)? Returns its index, or -1
 * where none is near enough to be what was meant.
 */
int hx_suggest_nearest(const char *text, size_t len, const char *const *names, size_t count);

#endif
