/*
 * buf.h - a growable run of bytes.
 *
 * A zero-initialised hx_buf is empty and valid. Not for use by two threads at once.
 */
#ifndef HX_BUF_H
#define HX_BUF_H

#include <stddef.h>

typedef struct hx_buf {
    unsigned char *data; /* owned; NULL while cap is 0 */
    size_t len;          /* bytes in use */
    size_t cap;          /* bytes allocated */
} hx_buf;

/* Makes room for `extra` more bytes. 0, or -ENOMEM with the buffer as it was. */
int hx_buf_reserve(hx_buf *buf, size_t extra);

/* Appends len bytes of data (copied). 0, or -ENOMEM with the buffer as it was. */
int hx_buf_append(hx_buf *buf, const void *data, size_t len);

/* Frees the memory and leaves an empty buffer. */
void hx_buf_free(hx_buf *buf);

#endif
