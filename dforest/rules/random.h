/* Counter-based random streams, shared by the CPU and device code (C99 and C++).
 *
 * A stream is named by (seed, stream key, purpose), with the seed of a tree, and is a sequence of 32-bit words. Nothing is kept
 * between streams, so any thread, device or machine can compute any part of a stream alone.
 *
 * Philox has
 *
 *   key     = (seed, purpose)
 *   counter = (block, 0, stream key low, stream key high), block = 0, 1, 2, ...
 *   words   = the four outputs of Philox4x32-10 of each block, in order
 *
 * The seeds of a forest's trees follow from the forest's seed and the trees' numbers.
 *
 * Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 * splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
 */
#ifndef DFOREST_RANDOM_H
#define DFOREST_RANDOM_H

#include <stdint.h>

#define DF_WEYL 0x9E3779B97F4A7C15ull
#define DF_ROOT_KEY 0x243F6A8885A308D3ull
#define DF_LEFT_CHILD 0xA0761D6478BD642Full
#define DF_RIGHT_CHILD 0xE7037ED1A0B428DBull

enum {
    DF_FEATURES = 1,        /* order of the features at a node; stream key: the node's */
    DF_BOOTSTRAP_SPLIT = 2, /* draws sent to the left half; key: node of the block tree */
    DF_BOOTSTRAP_DRAW = 3,  /* rows drawn inside a block; key: the block's number */
    DF_THRESHOLD = 4,       /* random threshold; key: df_feature_key */
    DF_PERMUTATION = 5,     /* order of a tree's out-of-bag rows; key: the feature */
    DF_SUBSAMPLE_SHARE = 6, /* which blocks have their share of drawn rows rounded up; key: 0 */
    DF_SUBSAMPLE_DRAW = 7,  /* rows of a block that are drawn without replacement; key: the block's number */
    DF_LABEL_ORDER = 8,     /* which rows order labels; key: the row's number */
    DF_HONEST_HALF = 9,     /* which rows of a block choose the splits of an honest tree; key: the block's number */
    DF_PROJECTION = 10,     /* columns and weights of a projection, and its random threshold; key: df_feature_key of its number */
    DF_SKETCH = 11,         /* the signs that sums have along the directions of a sketch; key: the sum's number */
    DF_CHANCE = 12,         /* which rows of a block boosting draws, each by a chance of its own; key: the block's number */
    DF_CUSTOM = 64          /* from here on: whatever user-defined splitters draw */
};

enum { DF_BLOCK = 4096 }; /* rows of a block, whose draws are drawn together */

typedef struct {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t words[4];
    int used; /* words of the current block already handed out */
} df_stream;

static inline void df_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    int round;
    for (round = 0; round < 10; ++round) {
        uint64_t p = (uint64_t)0xD2511F53u * a;
        uint64_t q = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(q >> 32) ^ b ^ k0;
        b = (uint32_t)q;
        c = (uint32_t)(p >> 32) ^ d ^ k1;
        d = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

static inline void df_stream_open(df_stream *s, uint32_t seed, uint64_t stream_key, uint32_t purpose) {
    s->key[0] = seed;
    s->key[1] = purpose;
    s->counter[0] = 0;
    s->counter[1] = 0;
    s->counter[2] = (uint32_t)stream_key;
    s->counter[3] = (uint32_t)(stream_key >> 32);
    s->used = 4;
}

static inline uint32_t df_next(df_stream *s) {
    if (s->used == 4) {
        df_philox(s->counter, s->key, s->words);
        s->counter[0] += 1;
        s->used = 0;
    }
    return s->words[s->used++];
}

/* Whether the product of a word and n gives a number in [0, n), which is its upper half, or has to be passed over. */
static inline int df_is_kept(uint64_t product, uint32_t n) {
    return (uint32_t)product >= n || (uint32_t)product >= (0u - n) % n;
}

/* Uniform integer in [0, n), 0 < n < 2^32, without bias (Lemire, ACM TOMACS 29(1), 2019). */
static inline uint32_t df_below(df_stream *s, uint32_t n) {
    uint64_t m;
    do
        m = (uint64_t)df_next(s) * n;
    while (!df_is_kept(m, n));
    return (uint32_t)(m >> 32);
}

/* Uniform integer in [0, n), 0 < n < 2^63, without bias: as df_below for n below 2^32; above, two words are a number, the lowest
 * numbers, which would favour some results, are passed over, and each n-th part of the others is a result. So the results for two
 * bounds n that are nearly equal are nearly equal, too. */
static inline uint64_t df_below_long(df_stream *s, uint64_t n) {
    uint64_t x, least, size;
    if (n >> 32 == 0)
        return df_below(s, (uint32_t)n);
    least = (0u - n) % n; /* 2^64 mod n */
    size = (0u - n) / n + 1; /* (2^64 - least) / n */
    do {
        x = (uint64_t)df_next(s) << 32;
        x |= df_next(s);
    } while (x < least);
    return (x - least) / size;
}

/* Uniform in [0, 1), a multiple of 2^-53. */
static inline double df_uniform(df_stream *s) {
    uint64_t high = df_next(s) >> 5;
    uint64_t low = df_next(s) >> 6;
    return (double)(high << 26 | low) * (1.0 / 9007199254740992.0);
}

/* splitmix64's finaliser, a bijection. */
static inline uint64_t df_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* The seed of a tree: a bijection of the tree's number, so that no two trees of a forest share a seed. A Feistel network of
 * halves of 16 bits, keyed by the forest's seed: its round functions are the numbers that splitmix64 draws from this seed. */
static inline uint32_t df_tree_seed(uint64_t seed, uint32_t tree) {
    uint64_t left = tree >> 16, right = tree & 0xFFFF, next, round;
    for (round = 0; round < 6; ++round) {
        next = left ^ (df_mix(seed + (round << 16 | right) * DF_WEYL) >> 48);
        left = right;
        right = next;
    }
    return (uint32_t)(left << 16 | right);
}

/* The number of the tree that has a seed: the inverse of df_tree_seed. */
static inline uint32_t df_tree_number(uint64_t seed, uint32_t tree_seed) {
    uint64_t left = tree_seed >> 16, right = tree_seed & 0xFFFF, before, round;
    for (round = 6; round-- > 0;) {
        before = right ^ (df_mix(seed + (round << 16 | left) * DF_WEYL) >> 48);
        right = left;
        left = before;
    }
    return (uint32_t)(left << 16 | right);
}

/* The stream key of a feature in a node, for what is drawn per feature. */
static inline uint64_t df_feature_key(uint64_t node_key, uint64_t feature) { return df_mix(node_key + (feature + 1) * DF_WEYL); }

/* The node key of a child: a bijection of the parent's for either side. */
static inline uint64_t df_child_key(uint64_t node_key, int right) {
    return df_mix(node_key ^ (right ? DF_RIGHT_CHILD : DF_LEFT_CHILD));
}

#endif
