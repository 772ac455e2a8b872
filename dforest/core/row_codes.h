/* Bytes of columns side by side in rows, and back (C99 and C++): see data.pyx.
 *
 * Both ways go by tiles of 16 rows and 16 columns: 16 vectors of 16 bytes are transposed in registers. */
#ifndef DFOREST_ROW_CODES_H
#define DFOREST_ROW_CODES_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

#if defined(__GNUC__)
#define DF_ASK_FOR(address) __builtin_prefetch(address)
#else
#define DF_ASK_FOR(address) ((void)0)
#endif

enum {
    DF_TILE = 16,      // rows and columns of a tile
    DF_LINE = 64,      // bytes of a cache line
    DF_LINES_AHEAD = 4 // of a row that are asked for ahead, at most; the processor goes on by itself
};

#if defined(__SSE2__) || defined(_M_X64)
/* Byte k of `from[i]` becomes byte i of vector k: four times, vectors i and i + 8 are interleaved to vectors 2 i and 2 i + 1. */
static inline void df_transpose(const uint8_t *const *from, __m128i *to) {
    __m128i other[DF_TILE];
    for (int i = 0; i < DF_TILE / 2; i++) {
        __m128i a = _mm_loadu_si128((const __m128i *)from[i]), b = _mm_loadu_si128((const __m128i *)from[i + DF_TILE / 2]);
        other[2 * i] = _mm_unpacklo_epi8(a, b);
        other[2 * i + 1] = _mm_unpackhi_epi8(a, b);
    }
    for (int i = 0; i < DF_TILE / 2; i++) {
        to[2 * i] = _mm_unpacklo_epi8(other[i], other[i + DF_TILE / 2]);
        to[2 * i + 1] = _mm_unpackhi_epi8(other[i], other[i + DF_TILE / 2]);
    }
    for (int i = 0; i < DF_TILE / 2; i++) {
        other[2 * i] = _mm_unpacklo_epi8(to[i], to[i + DF_TILE / 2]);
        other[2 * i + 1] = _mm_unpackhi_epi8(to[i], to[i + DF_TILE / 2]);
    }
    for (int i = 0; i < DF_TILE / 2; i++) {
        to[2 * i] = _mm_unpacklo_epi8(other[i], other[i + DF_TILE / 2]);
        to[2 * i + 1] = _mm_unpackhi_epi8(other[i], other[i + DF_TILE / 2]);
    }
}
typedef __m128i df_tile_row;
#else
typedef struct {
    uint8_t bytes[DF_TILE];
} df_tile_row;

static inline void df_transpose(const uint8_t *const *from, df_tile_row *to) {
    for (int k = 0; k < DF_TILE; k++)
        for (int i = 0; i < DF_TILE; i++)
            to[k].bytes[i] = from[i][k];
}
#endif

/* Write n bytes of each of some columns, from `start` on, side by side into n rows.
 *
 * IN columns : [n_columns] to start + n bytes each
 * OUT rows : [n, stride] */
static inline void df_interleave(const uint8_t *const *columns, int64_t n_columns, int64_t start, int64_t n, uint8_t *rows,
                                 int64_t stride) {
    df_tile_row tile[DF_TILE];
    const uint8_t *from[DF_TILE];
    int64_t i, k;
    for (int64_t first = 0; first < n_columns; first += DF_TILE) {
        size_t n_bytes = (size_t)(n_columns - first < DF_TILE ? n_columns - first : DF_TILE);
        for (i = 0; i + DF_TILE <= n; i += DF_TILE) {
            for (k = 0; k < DF_TILE; k++)
                from[k] = columns[first + k < n_columns ? first + k : first] + start + i;
            df_transpose(from, tile);
            for (k = 0; k < DF_TILE; k++)
                memcpy(rows + (i + k) * stride + first, &tile[k], n_bytes);
        }
        for (; i < n; i++)
            for (k = 0; k < (int64_t)n_bytes; k++)
                rows[i * stride + first + k] = columns[first + k][start + i];
    }
}

/* Copy columns of bytes for n rows, of which there are DF_TILE or more.
 *
 * IN number : [n] of the rows
 * IN rows : [., stride], and room to read DF_TILE bytes behind the last column of the last row
 * OUT to : [n_columns, n] */
static inline void df_gather_bytes(const uint32_t *number, int64_t n, const uint8_t *rows, int64_t stride, int64_t n_columns,
                                   uint8_t *to) {
    df_tile_row tile[DF_TILE];
    const uint8_t *from[DF_TILE];
    int64_t begin = 0, ahead = n_columns < DF_LINES_AHEAD * DF_LINE ? n_columns : DF_LINES_AHEAD * DF_LINE;
    while (begin < n && n_columns > 0) {
        int64_t i = begin + DF_TILE <= n ? begin : n - DF_TILE; // the last tile has rows of the one before
        for (int k = 0; k < DF_TILE; k++) {
            from[k] = rows + (int64_t)number[i + k] * stride;
            if (i + 3 * DF_TILE <= n)
                for (int64_t at = 0; at < ahead; at += DF_LINE)
                    DF_ASK_FOR(rows + (int64_t)number[i + 2 * DF_TILE + k] * stride + at);
        }
        for (int64_t first = 0; first < n_columns; first += DF_TILE) {
            uint8_t *column = to + first * n + i;
            df_transpose(from, tile);
            if (first + DF_TILE <= n_columns)
                for (int k = 0; k < DF_TILE; k++)
                    memcpy(column + k * n, &tile[k], DF_TILE);
            else
                for (int k = 0; k < n_columns - first; k++)
                    memcpy(column + k * n, &tile[k], DF_TILE);
            for (int k = 0; k < DF_TILE; k++)
                from[k] += DF_TILE;
        }
        begin += DF_TILE;
    }
}

#endif
