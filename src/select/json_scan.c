/*
 * json_scan.c - kernels that find the tokens of a JSON text, see json_scan.h.
 *
 * Each kernel turns 64 bytes into seven 64-bit masks, bit i for byte i: quotes, backslashes, control characters,
 * openers { [ : , and closers } ], blanks, bytes above 0x7f. All that follows is arithmetic on those masks, shared
 * by the kernels:
 *
 *     bytes       { " a " : 1 2 , t r u e }
 *     quote       . 1 . 1 . . . . . . . . .     without those that a backslash escapes
 *     in_string   . 1 1 . . . . . . . . . .     running xor of quote: opening quote included, closing one not
 *     outside     . . . . . 1 1 . 1 1 1 1 .     neither string, quote, opener, closer nor blank
 *     starts      . . . . . 1 . . 1 . . . .     first bytes of a run of `outside`
 *     implied     . 1 . . . 1 . . 1 . . . .     directly behind an opener
 *     tokens      1 . . . 1 . . 1 . . . . 1     openers and closers outside, opening quotes, starts; not the implied
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
    uint64_t quote, backslash, control, openers, closers, blank, high;
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

/* For where the processor may have no instruction for it. */
static ALWAYS_INLINE size_t count_bits(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (size_t)(bits * 0x0101010101010101u >> 56);
}

static ALWAYS_INLINE uint64_t put_token(uint64_t bits, size_t base, uint16_t *token)
{
    *token = (uint16_t)(base + (size_t)__builtin_ctzll(bits | (uint64_t)1 << 63));
    return bits & (bits - 1);
}

/* Append the offsets of the `count` set bits. Writes in steps of 8, so up to 7 words more than it counts. */
static ALWAYS_INLINE void put_tokens(hx_json_scan *scan, size_t block, uint64_t bits, size_t count)
{
    size_t base = block * HX_JSON_BLOCK;
    uint16_t *tokens = scan->tokens + scan->count;
    scan->count += count;
    for (size_t done = 0; done < count; done += HX_JSON_TOKEN_STEP) {
        bits = put_token(bits, base, tokens + done);
        bits = put_token(bits, base, tokens + done + 1);
        bits = put_token(bits, base, tokens + done + 2);
        bits = put_token(bits, base, tokens + done + 3);
        bits = put_token(bits, base, tokens + done + 4);
        bits = put_token(bits, base, tokens + done + 5);
        bits = put_token(bits, base, tokens + done + 6);
        bits = put_token(bits, base, tokens + done + 7);
    }
}

/* The tokens of a block. quote: without the escaped ones; in_string: its running xor, carry applied. */
static ALWAYS_INLINE uint64_t find_tokens(hx_json_scan *scan, size_t block, const struct masks *m, uint64_t quote,
                                          uint64_t in_string, uint64_t valid)
{
    scan->in_string = (uint64_t)((int64_t)in_string >> 63);
    uint64_t outside = ~(m->openers | m->closers | m->blank | quote | in_string);
    uint64_t starts = outside & ~(outside << 1 | scan->in_scalar);
    scan->in_scalar = outside >> 63;
    uint64_t openers = m->openers & ~in_string;
    uint64_t implied = openers << 1 | scan->after_opener;
    scan->after_opener = openers >> 63;
    uint64_t control = m->control & in_string & valid;
    scan->control[block] = control;
    scan->odd |= control;
    scan->high |= m->high & valid;
    return (openers | (m->closers & ~in_string) | (quote & in_string) | starts) & ~implied & valid;
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

enum { QUOTE = 1, BACKSLASH = 2, CONTROL = 4, OPENER = 8, CLOSER = 16, BLANK = 32, HIGH = 64 };

static const unsigned char class_of[256] = {
    [0 ... 8] = CONTROL,
    ['\t'] = CONTROL | BLANK,
    ['\n'] = CONTROL | BLANK,
    [11 ... 12] = CONTROL,
    ['\r'] = CONTROL | BLANK,
    [14 ... 31] = CONTROL,
    [' '] = BLANK,
    ['"'] = QUOTE,
    ['\\'] = BACKSLASH,
    ['{'] = OPENER,
    ['['] = OPENER,
    [':'] = OPENER,
    [','] = OPENER,
    ['}'] = CLOSER,
    [']'] = CLOSER,
    [128 ... 255] = HIGH,
};

/* Bit k of the result is the lowest bit of byte k: the product moves it to bit 56 + k. */
static ALWAYS_INLINE uint64_t gather(uint64_t bytes)
{
    return (bytes & 0x0101010101010101u) * 0x0102040810204080u >> 56;
}

static void classify_portable(const unsigned char *data, struct masks *m)
{
    *m = (struct masks){0};
    for (unsigned at = 0; at < HX_JSON_BLOCK; at += 8) {
        uint64_t classes = 0;
        for (unsigned i = 0; i < 8; i++)
            classes |= (uint64_t)class_of[data[at + i]] << (8 * i);
        m->quote |= gather(classes) << at;
        m->backslash |= gather(classes >> 1) << at;
        m->control |= gather(classes >> 2) << at;
        m->openers |= gather(classes >> 3) << at;
        m->closers |= gather(classes >> 4) << at;
        m->blank |= gather(classes >> 5) << at;
        m->high |= gather(classes >> 6) << at;
    }
}

static void scan_portable(hx_json_scan *scan, const unsigned char *data, size_t blocks, uint64_t last_valid)
{
    begin_run(scan);
    for (size_t i = 0; i < blocks; i++) {
        struct masks m;
        classify_portable(data + i * HX_JSON_BLOCK, &m);
        uint64_t valid = i + 1 == blocks ? last_valid : ~(uint64_t)0;
        uint64_t quote = real_quotes(scan, i, &m, valid);
        uint64_t tokens = find_tokens(scan, i, &m, quote, running_xor(quote) ^ scan->in_string, valid);
        put_tokens(scan, i, tokens, count_bits(tokens));
    }
}

#ifdef __SSE2__

/* ---- SSE2 ---- */

static ALWAYS_INLINE uint64_t bits16(__m128i bytes, unsigned shift)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(bytes) << shift;
}

static ALWAYS_INLINE void classify_sse2(const unsigned char *data, struct masks *m)
{
    *m = (struct masks){0};
    for (unsigned shift = 0; shift < HX_JSON_BLOCK; shift += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + shift));
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20)); /* [ and { become one, ] and } too */
        __m128i separators =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')));
        m->quote |= bits16(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), shift);
        m->backslash |= bits16(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')), shift);
        m->control |= bits16(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes), shift);
        m->openers |= bits16(_mm_or_si128(separators, _mm_cmpeq_epi8(folded, _mm_set1_epi8('{'))), shift);
        m->closers |= bits16(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')), shift);
        m->blank |= bits16(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')), shift);
        m->high |= bits16(bytes, shift);
    }
}

/* Tab, LF and CR are rare between the tokens of a record: only blocks with a control character pay for them. */
static __attribute__((noinline)) uint64_t rare_blanks(const unsigned char *data, uint64_t control)
{
    uint64_t blank = 0;
    for (; control != 0; control &= control - 1) {
        unsigned at = (unsigned)__builtin_ctzll(control);
        if (class_of[data[at]] & BLANK)
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
        uint64_t tokens = find_tokens(scan, i, &m, quote, running_xor(quote) ^ scan->in_string, valid);
        put_tokens(scan, i, tokens, count_bits(tokens));
    }
}

/* ---- AVX2: the same, wider, with the running xor as one carry-less multiplication ---- */

#define TARGET_AVX2 __attribute__((target("avx2,pclmul,bmi,bmi2,popcnt")))

static ALWAYS_INLINE TARGET_AVX2 uint64_t running_xor_clmul(uint64_t bits)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)bits), _mm_set1_epi8((char)0xff), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

static ALWAYS_INLINE TARGET_AVX2 uint64_t bits32(__m256i bytes, unsigned shift)
{
    return (uint64_t)(unsigned)_mm256_movemask_epi8(bytes) << shift;
}

static ALWAYS_INLINE TARGET_AVX2 void classify_avx2(const unsigned char *data, struct masks *m)
{
    *m = (struct masks){0};
    for (unsigned shift = 0; shift < HX_JSON_BLOCK; shift += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(data + shift));
        __m256i folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        __m256i separators = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(':')),
                                             _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(',')));
        m->quote |= bits32(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')), shift);
        m->backslash |= bits32(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')), shift);
        m->control |= bits32(_mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes), shift);
        m->openers |= bits32(_mm256_or_si256(separators, _mm256_cmpeq_epi8(folded, _mm256_set1_epi8('{'))), shift);
        m->closers |= bits32(_mm256_cmpeq_epi8(folded, _mm256_set1_epi8('}')), shift);
        m->blank |= bits32(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' ')), shift);
        m->high |= bits32(bytes, shift);
    }
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
        uint64_t tokens = find_tokens(scan, i, &m, quote, running_xor_clmul(quote) ^ scan->in_string, valid);
        put_tokens(scan, i, tokens, (size_t)__builtin_popcountll(tokens));
    }
}

/* ---- AVX-512 with VBMI2: whole blocks, and the offsets of the tokens by one compress ---- */

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi2,avx2,pclmul,bmi,bmi2,popcnt")))

static ALWAYS_INLINE TARGET_AVX512 void classify_avx512(const unsigned char *data, struct masks *m)
{
    __m512i bytes = _mm512_loadu_si512(data);
    __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    m->quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    m->backslash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\'));
    m->control = _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20));
    m->openers = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')) |
                 _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(':')) |
                 _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(','));
    m->closers = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}'));
    m->blank = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' '));
    m->high = _mm512_movepi8_mask(bytes);
}

/* Writes 32 words, or 64 where there are more than 32 tokens: HX_JSON_TOKENS_SPARE allows for it. */
static ALWAYS_INLINE TARGET_AVX512 void put_tokens_avx512(hx_json_scan *scan, size_t block, uint64_t bits)
{
    static const unsigned char offsets[HX_JSON_BLOCK] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    uint16_t *tokens = scan->tokens + scan->count;
    size_t count = (size_t)__builtin_popcountll(bits);
    scan->count += count;
    __m512i base = _mm512_set1_epi16((short)(block * HX_JSON_BLOCK));
    __m512i packed = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(offsets));
    __m512i words = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed));
    _mm512_storeu_si512(tokens, _mm512_add_epi16(words, base));
    if (__builtin_expect(count > 32, 0)) {
        words = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(packed, 1));
        _mm512_storeu_si512(tokens + 32, _mm512_add_epi16(words, base));
    }
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
        uint64_t tokens = find_tokens(scan, i, &m, quote, running_xor_clmul(quote) ^ scan->in_string, valid);
        put_tokens_avx512(scan, i, tokens);
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
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vbmi2")) {
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
