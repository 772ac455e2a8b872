/* XXH64, a checksum of 64 bits (Y. Collet, "XXH64 algorithm description", in the specification of xxHash), C99 and C++.

   Four sums take turns at words of 8 bytes, so that no multiplication waits for the one before; what is left over is added
   word by word. Bytes are read as little-endian numbers, so that the checksum of some bytes is the same on any machine.

   Nothing here owns memory. */
#ifndef DFOREST_CHECKSUM_H
#define DFOREST_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DF_PRIME1 0x9E3779B185EBCA87u
#define DF_PRIME2 0xC2B2AE3D27D4EB4Fu
#define DF_PRIME3 0x165667B19E3779F9u
#define DF_PRIME4 0x85EBCA77C2B2AE63u
#define DF_PRIME5 0x27D4EB2F165667C5u

static inline uint64_t df_rotated(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static inline uint64_t df_little64(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t df_little32(const unsigned char *bytes)
{
    return bytes[0] | (uint64_t) bytes[1] << 8 | (uint64_t) bytes[2] << 16 | (uint64_t) bytes[3] << 24;
}

static inline uint64_t df_absorbed(uint64_t sum, uint64_t word)
{
    return df_rotated(sum + word * DF_PRIME2, 31) * DF_PRIME1;
}

static inline uint64_t df_checksum(const unsigned char *bytes, size_t n)
{
    const unsigned char *end = bytes + n;
    uint64_t sum = DF_PRIME5;
    if (n >= 32) {
        uint64_t a = DF_PRIME1 + DF_PRIME2, b = DF_PRIME2, c = 0, d = 0 - DF_PRIME1;
        for (; end - bytes >= 32; bytes += 32) {
            a = df_absorbed(a, df_little64(bytes));
            b = df_absorbed(b, df_little64(bytes + 8));
            c = df_absorbed(c, df_little64(bytes + 16));
            d = df_absorbed(d, df_little64(bytes + 24));
        }
        sum = df_rotated(a, 1) + df_rotated(b, 7) + df_rotated(c, 12) + df_rotated(d, 18);
        sum = (sum ^ df_absorbed(0, a)) * DF_PRIME1 + DF_PRIME4;
        sum = (sum ^ df_absorbed(0, b)) * DF_PRIME1 + DF_PRIME4;
        sum = (sum ^ df_absorbed(0, c)) * DF_PRIME1 + DF_PRIME4;
        sum = (sum ^ df_absorbed(0, d)) * DF_PRIME1 + DF_PRIME4;
    }
    sum += n;
    for (; end - bytes >= 8; bytes += 8)
        sum = df_rotated(sum ^ df_absorbed(0, df_little64(bytes)), 27) * DF_PRIME1 + DF_PRIME4;
    if (end - bytes >= 4) {
        sum = df_rotated(sum ^ df_little32(bytes) * DF_PRIME1, 23) * DF_PRIME2 + DF_PRIME3;
        bytes += 4;
    }
    for (; bytes < end; bytes++)
        sum = df_rotated(sum ^ *bytes * DF_PRIME5, 11) * DF_PRIME1;
    sum = (sum ^ sum >> 33) * DF_PRIME2;
    sum = (sum ^ sum >> 29) * DF_PRIME3;
    return sum ^ sum >> 32;
}
#endif
