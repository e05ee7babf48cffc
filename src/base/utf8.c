/*
 * utf8.c - is it UTF-8?
 *
 * Text is mostly ASCII, so runs of it are skipped 16 or 8 bytes at a time; everything else is judged character by
 * character. The first byte tells the length and the range that the second byte must lie in; that range is what
 * keeps out overlong forms (E0, F0), surrogates (ED) and what is above U+10FFFF (F4):
 *
 *     00..7F
 *     C2..DF  80..BF
 *     E0      A0..BF  80..BF          ED  80..9F  80..BF          E1..EC EE EF  80..BF  80..BF
 *     F0      90..BF  80..BF  80..BF  F4  80..8F  80..BF  80..BF  F1..F3        80..BF  80..BF  80..BF
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static size_t skip_ascii(const unsigned char *text, size_t at, size_t len)
{
#ifdef __SSE2__
    while (len - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        int high = _mm_movemask_epi8(bytes);
        if (high != 0)
            return at + (size_t)__builtin_ctz((unsigned)high);
        at += 16;
    }
#endif
    while (len - at >= 8) {
        uint64_t bytes;
        memcpy(&bytes, text + at, 8);
        if (bytes & 0x8080808080808080u)
            break;
        at += 8;
    }
    while (at < len && text[at] < 0x80)
        at++;
    return at;
}

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The length of the character at text[0], which is above 0x7f; 0 where there is none. */
static size_t character_len(const unsigned char *text, size_t len)
{
    unsigned char first = text[0];
    if (first < 0xc2 || first > 0xf4 || len < 2)
        return 0;
    if (first < 0xe0)
        return is_tail(text[1]) ? 2 : 0;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < low || text[1] > high || len < 3 || !is_tail(text[2]))
        return 0;
    if (first < 0xf0)
        return 3;
    return len >= 4 && is_tail(text[3]) ? 4 : 0;
}

size_t hx_utf8_prefix(const void *data, size_t len)
{
    const unsigned char *text = data;
    size_t at = 0;
    for (;;) {
        at = skip_ascii(text, at, len);
        /* Text in other scripts comes in runs too: stay here until the next ASCII byte. */
        while (at < len && text[at] >= 0x80) {
            size_t step = character_len(text + at, len - at);
            if (step == 0)
                return at;
            at += step;
        }
        if (at == len)
            return len;
    }
}

bool hx_utf8_valid(const void *data, size_t len)
{
    return hx_utf8_prefix(data, len) == len;
}
