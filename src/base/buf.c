/*
 * buf.c - a growable run of bytes.
 *
 * The one idea: capacity doubles, so that appending n bytes one by one costs O(n). Invariant: len <= cap, and data
 * is NULL exactly while cap is 0.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int hx_buf_reserve(hx_buf *buf, size_t extra)
{
    if (extra <= buf->cap - buf->len)
        return 0;
    if (extra > SIZE_MAX / 2 - buf->len)
        return -ENOMEM;
    size_t need = buf->len + extra;
    size_t cap = buf->cap < 64 ? 64 : buf->cap;
    while (cap < need)
        cap *= 2;
    unsigned char *data = realloc(buf->data, cap);
    if (data == NULL)
        return -ENOMEM;
    buf->data = data;
    buf->cap = cap;
    return 0;
}

int hx_buf_append(hx_buf *buf, const void *data, size_t len)
{
    int rc = hx_buf_reserve(buf, len);
    if (rc < 0)
        return rc;
    if (len > 0)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    return 0;
}

void hx_buf_free(hx_buf *buf)
{
    free(buf->data);
    *buf = (hx_buf){0};
}
