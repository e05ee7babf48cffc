/*
 * json_scan.c - kernels that find the tokens of a JSON text, see json_scan.h.
 *
 * Each kernel turns 64 bytes into six 64-bit masks, bit i for byte i: quotes, backslashes, control characters,
 * operators {}[]:, blanks, bytes above 0x7f. All that follows is arithmetic on those masks, shared by the kernels:
 *
 *     bytes       { " a " : 1 2 }
 *     quote       . 1 . 1 . . . .     without those that a backslash escapes
 *     in_string   . 1 1 . . . . .     running xor of quote: opening quote included, closing one not
 *     outside     . . . . . 1 1 .     neither string, quote, operator nor blank
 *     tokens      1 1 . . 1 1 . 1     operators outside, opening quotes, first bytes of a run of `outside`
 *
 * The portable kernel needs nothing but 64-bit integers. On x86-64 SSE2 is always there; AVX2 and AVX-512 are used
 * where the processor has them.
 */
#include "select/json_scan.h"

#include <stdbool.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))

struct masks {
    uint64_t quote, backslash, control, operators, blank, high;
};

/* Bytes that have an escaping backslash before them. Backslashes are rare, so one turn for each of them. */
static uint64_t find_escaped(uint64_t backslash, uint64_t *carry)
{
    uint64_t escaped = *carry;
    *carry = 0;
    backslash &= ~escaped;
    while (backslash != 0) {
        unsigned at = (unsigned)__builtin_ctzll(backslash);
        if (at == 63) {
            *carry = 1;
            break;
        }
        uint64_t next = (uint64_t)2 << at;
        escaped |= next;
        backslash &= ~(next | next >> 1);
    }
    return escaped;
}

/* Bit i is the xor of the bits 0..i. */
static ALWAYS_INLINE uint64_t running_xor(uint64_t bits)
{
    for (unsigned step = 1; step < 64; step *= 2)
        bits ^= bits << step;
    return bits;
}

/* The offsets of the set bits. Writes in steps of 8, up to 7 words more than it counts. */
static ALWAYS_INLINE size_t flatten(uint64_t bits, size_t base, uint16_t *tokens)
{
    size_t count = (size_t)__builtin_popcountll(bits);
    for (size_t done = 0; done < count; done += HX_JSON_TOKEN_STEP) {
        for (size_t i = 0; i < HX_JSON_TOKEN_STEP; i++) {
            tokens[done + i] = (uint16_t)(base + (size_t)__builtin_ctzll(bits | (uint64_t)1 << 63));
            bits &= bits - 1;
        }
    }
    return count;
}

/* quote: without the escaped ones; in_string: its running xor, carry applied. */
static ALWAYS_INLINE void finish_block(hx_json_scan *scan, size_t block, const struct masks *m, uint64_t quote,
                                       uint64_t in_string, uint64_t valid)
{
    scan->in_string = (uint64_t)((int64_t)in_string >> 63);
    uint64_t outside = ~(m->operators | m->blank | quote | in_string);
    uint64_t starts = outside & ~(outside << 1 | scan->in_scalar);
    scan->in_scalar = outside >> 63;
    uint64_t control = m->control & in_string & valid;
    scan->control[block] = control;
    scan->odd |= control;
    scan->high |= m->high & valid;
    uint64_t tokens = ((m->operators & ~in_string) | (quote & in_string) | starts) & valid;
    scan->count += flatten(tokens, block * HX_JSON_BLOCK, scan->tokens + scan->count);
}

/* The unescaped quotes of a block; remembers what is escaped. */
static ALWAYS_INLINE uint64_t real_quotes(hx_json_scan *scan, size_t block, const struct masks *m, uint64_t valid)
{
    uint64_t escaped = 0;
    if (__builtin_expect((m->backslash | scan->escape_next) != 0, 0))
        escaped = find_escaped(m->backslash & valid, &scan->escape_next);
    scan->escaped[block] = escaped;
    scan->odd |= escaped;
    return m->quote & ~escaped & valid;
}

static ALWAYS_INLINE void begin_run(hx_json_scan *scan)
{
    scan->odd = 0;
    scan->high = 0;
    scan->count = 0;
}

/* ---- portable ---- */

/* Bits of a byte's class: 0 quote, 1 backslash, 2 control, 3 operator, 4 blank, 5 above 0x7f. */
static const unsigned char class_of[256] = {
    [0 ... 8] = 4,  ['\t'] = 20, ['\n'] = 20, [11 ... 12] = 4, ['\r'] = 20, [14 ... 31] = 4,   [' '] = 16, ['"'] = 1,
    ['\\'] = 2,     [','] = 8,   [':'] = 8,   ['['] = 8,       [']'] = 8,   ['{'] = 8,         ['}'] = 8,
    [128 ... 255] = 32,
};

/* Spread so that the class bit i of the byte becomes the lowest bit of mask i: one pass, eight bytes a turn. */
static void classify_portable(const unsigned char *data, struct masks *m)
{
    uint64_t mask[6] = {0};
    for (unsigned at = 0; at < HX_JSON_BLOCK; at++) {
        uint64_t class = class_of[data[at]];
        for (unsigned i = 0; i < 6; i++)
            mask[i] |= (class >> i & 1) << at;
    }
    *m = (struct masks){mask[0], mask[1], mask[2], mask[3], mask[4], mask[5]};
}

static void scan_portable(hx_json_scan *scan, const unsigned char *data, size_t blocks, uint64_t last_valid)
{
    begin_run(scan);
    for (size_t i = 0; i < blocks; i++) {
        struct masks m;
        classify_portable(data + i * HX_JSON_BLOCK, &m);
        uint64_t valid = i + 1 == blocks ? last_valid : ~(uint64_t)0;
        uint64_t quote = real_quotes(scan, i, &m, valid);
        finish_block(scan, i, &m, quote, running_xor(quote) ^ scan->in_string, valid);
    }
}

#ifdef __SSE2__

/* ---- SSE2 ---- */

static ALWAYS_INLINE void classify_sse2(const unsigned char *data, struct masks *m)
{
    uint64_t quote = 0, backslash = 0, control = 0, operators = 0, space = 0, high = 0;
    for (unsigned i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i));
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20)); /* [ and { become one, ] and } too */
        __m128i ops = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                                _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'))),
                                   _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')),
                                                _mm_cmpeq_epi8(bytes, _mm_set1_epi8(','))));
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        unsigned shift = 16 * i;
        quote |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))) << shift;
        backslash |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))) << shift;
        space |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '))) << shift;
        control |= (uint64_t)(unsigned)_mm_movemask_epi8(low) << shift;
        operators |= (uint64_t)(unsigned)_mm_movemask_epi8(ops) << shift;
        high |= (uint64_t)(unsigned)_mm_movemask_epi8(bytes) << shift;
    }
    *m = (struct masks){quote, backslash, control, operators, space, high};
}

/* Tab, LF and CR are rare between the tokens of a record: only blocks with a control character pay for them. */
static uint64_t rare_blanks(const unsigned char *data, uint64_t control)
{
    uint64_t blank = 0;
    for (; control != 0; control &= control - 1) {
        unsigned at = (unsigned)__builtin_ctzll(control);
        if (class_of[data[at]] & 16)
            blank |= (uint64_t)1 << at;
    }
    return blank;
}

static void scan_sse2(hx_json_scan *scan, const unsigned char *data, size_t blocks, uint64_t last_valid)
{
    begin_run(scan);
    for (size_t i = 0; i < blocks; i++) {
        struct masks m;
        classify_sse2(data + i * HX_JSON_BLOCK, &m);
        uint64_t valid = i + 1 == blocks ? last_valid : ~(uint64_t)0;
        if (__builtin_expect((m.control & valid) != 0, 0))
            m.blank |= rare_blanks(data + i * HX_JSON_BLOCK, m.control & valid);
        uint64_t quote = real_quotes(scan, i, &m, valid);
        finish_block(scan, i, &m, quote, running_xor(quote) ^ scan->in_string, valid);
    }
}

/* ---- AVX2 and AVX-512: the same with wider steps, and the running xor as one carry-less multiplication ---- */

#define TARGET_AVX2 __attribute__((target("avx2,pclmul,bmi,bmi2,popcnt")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx2,pclmul,bmi,bmi2,popcnt")))

static ALWAYS_INLINE TARGET_AVX2 uint64_t running_xor_clmul(uint64_t bits)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)bits), _mm_set1_epi8((char)0xff), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

static ALWAYS_INLINE TARGET_AVX2 void classify_avx2(const unsigned char *data, struct masks *m)
{
    uint64_t quote = 0, backslash = 0, control = 0, operators = 0, space = 0, high = 0;
    for (unsigned i = 0; i < 2; i++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(data + 32 * i));
        __m256i folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        __m256i ops = _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(folded, _mm256_set1_epi8('{')),
                                                      _mm256_cmpeq_epi8(folded, _mm256_set1_epi8('}'))),
                                      _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(':')),
                                                      _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(','))));
        __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
        __m256i quotes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
        __m256i backslashes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
        __m256i spaces = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '));
        unsigned shift = 32 * i;
        quote |= (uint64_t)(unsigned)_mm256_movemask_epi8(quotes) << shift;
        backslash |= (uint64_t)(unsigned)_mm256_movemask_epi8(backslashes) << shift;
        space |= (uint64_t)(unsigned)_mm256_movemask_epi8(spaces) << shift;
        control |= (uint64_t)(unsigned)_mm256_movemask_epi8(low) << shift;
        operators |= (uint64_t)(unsigned)_mm256_movemask_epi8(ops) << shift;
        high |= (uint64_t)(unsigned)_mm256_movemask_epi8(bytes) << shift;
    }
    *m = (struct masks){quote, backslash, control, operators, space, high};
}

static TARGET_AVX2 void scan_avx2(hx_json_scan *scan, const unsigned char *data, size_t blocks, uint64_t last_valid)
{
    begin_run(scan);
    for (size_t i = 0; i < blocks; i++) {
        struct masks m;
        classify_avx2(data + i * HX_JSON_BLOCK, &m);
        uint64_t valid = i + 1 == blocks ? last_valid : ~(uint64_t)0;
        if (__builtin_expect((m.control & valid) != 0, 0))
            m.blank |= rare_blanks(data + i * HX_JSON_BLOCK, m.control & valid);
        uint64_t quote = real_quotes(scan, i, &m, valid);
        finish_block(scan, i, &m, quote, running_xor_clmul(quote) ^ scan->in_string, valid);
    }
}

static ALWAYS_INLINE TARGET_AVX512 void classify_avx512(const unsigned char *data, struct masks *m)
{
    __m512i bytes = _mm512_loadu_si512(data);
    __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    m->quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    m->backslash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\'));
    m->control = _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20));
    m->operators = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')) |
                   _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}')) |
                   _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(':')) |
                   _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(','));
    m->blank = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' '));
    m->high = _mm512_movepi8_mask(bytes);
}

static TARGET_AVX512 void scan_avx512(hx_json_scan *scan, const unsigned char *data, size_t blocks,
                                      uint64_t last_valid)
{
    begin_run(scan);
    for (size_t i = 0; i < blocks; i++) {
        struct masks m;
        classify_avx512(data + i * HX_JSON_BLOCK, &m);
        uint64_t valid = i + 1 == blocks ? last_valid : ~(uint64_t)0;
        if (__builtin_expect((m.control & valid) != 0, 0))
            m.blank |= rare_blanks(data + i * HX_JSON_BLOCK, m.control & valid);
        uint64_t quote = real_quotes(scan, i, &m, valid);
        finish_block(scan, i, &m, quote, running_xor_clmul(quote) ^ scan->in_string, valid);
    }
}

#endif

size_t hx_json_scan_kernels(hx_json_kernel kernels[HX_JSON_KERNELS_MAX], const char *names[HX_JSON_KERNELS_MAX])
{
    size_t count = 0;
#ifdef __SSE2__
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
        kernels[count] = scan_avx512;
        names[count++] = "avx512";
    }
    if (avx2) {
        kernels[count] = scan_avx2;
        names[count++] = "avx2";
    }
    kernels[count] = scan_sse2;
    names[count++] = "sse2";
#endif
    kernels[count] = scan_portable;
    names[count++] = "portable";
    return count;
}
