// Histograms of codes, in memory that the items of a group share.
//
// An entry of a histogram consists of *planes* of 32 bits, so that draws are added by atomics that every device has. A count
// takes a plane; a word of more bits is cut into limbs of `limb_bits`, the highest with its sign, each in a plane of its own. As
// a chunk has at most 2^(32 - limb_bits) records, no plane overflows.
//
//     classes, weights 1:   the count of each class
//     classes:              the count; the weight of each class, in weight_limbs
//     sums:                 the count; the weight, in weight_limbs (unless they are 1); the sum, in sum_limbs; if it is
//                           wide, its higher word, in as many limbs
//
// Where groups have one item, which needs no atomics, a word of more bits and the count before it are limbs of 64 bits, of two
// planes each.
//
// Planes are 0 between uses: whoever takes an entry sets it to 0. *Flags* may tell which codes occur, a bit each.
#ifndef DFOREST_KERNELS_HISTOGRAM_HPP
#define DFOREST_KERNELS_HISTOGRAM_HPP

#include "rules/criteria.h"
#include "rules/cut.h"
#include "rules/keys.h"
#include "rules/records.h"

DF_INLINE bool df_has_classes(const df_problem *p) { return p->criterion < DF_SQUARED_ERROR; }

#ifdef DF_ONE_ITEM

enum { DF_COUNT_PLANES = 2 };

DF_INLINE int64_t df_word_at(const uint32_t *plane)
{
    int64_t x;
    memcpy(&x, plane, sizeof x);
    return x;
}

DF_INLINE void df_add_word(uint32_t *plane, int64_t x)
{
    x = (int64_t) ((uint64_t) df_word_at(plane) + (uint64_t) x);
    memcpy(plane, &x, sizeof x);
}

DF_INLINE void df_add_count(const df_group &, uint32_t *plane, uint32_t count) { df_add_word(plane, count); }
DF_INLINE int64_t df_count_at(const uint32_t *plane) { return df_word_at(plane); }
DF_INLINE void df_add_limbs(const df_group &, const df_problem *, uint32_t *plane, int64_t, int64_t x) { df_add_word(plane, x); }
DF_INLINE int64_t df_join_limbs(const df_problem *, const uint32_t *plane, int64_t) { return df_word_at(plane); }

#else

enum { DF_COUNT_PLANES = 1 };

DF_INLINE void df_add_count(const df_group &group, uint32_t *plane, uint32_t count) { df_add(group, plane, count); }
DF_INLINE int64_t df_count_at(const uint32_t *plane) { return *plane; }

DF_INLINE void df_add_limbs(const df_group &group, const df_problem *p, uint32_t *plane, int64_t limbs, int64_t x)
{
    const int64_t bits = p->limb_bits, mask = ((int64_t) 1 << bits) - 1;
    for (int64_t j = 1; j < limbs; j++) {
        df_add(group, plane++, (uint32_t) (x & mask));
        x >>= bits;
    }
    df_add(group, plane, (uint32_t) x);
}

DF_INLINE int64_t df_join_limbs(const df_problem *p, const uint32_t *plane, int64_t limbs)
{
    const int64_t bits = p->limb_bits;
    uint64_t x = 0;
    for (int64_t j = 0; j < limbs; j++)
        x += (uint64_t) (j + 1 < limbs ? (int64_t) plane[j] : (int64_t) (int32_t) plane[j]) << (bits * j);
    return (int64_t) x;
}

#endif

// A number that the compiler knows.
template <int number> struct df_number {
    static constexpr int value = number;
};

enum { DF_AHEAD = 64 };        // records ahead whose codes are asked for

enum df_planes_kind { DF_UNIT_CLASSES, DF_WEIGHTED_CLASSES, DF_SUMS, DF_UNIT_SUMS }; // the last one: weights 1, not wide

template <int kind> DF_INLINE void df_add_draw(const df_group &group, const df_problem *p, uint32_t *entry, const df_record *record)
{
    if (kind == DF_UNIT_CLASSES) {
        df_add(group, entry + record->target, record->count);
        return;
    }
    df_add_count(group, entry, record->count);
    entry += DF_COUNT_PLANES;
    if (kind == DF_WEIGHTED_CLASSES) {
        df_add_limbs(group, p, entry + record->target * p->weight_limbs, p->weight_limbs,
                      (int64_t) record->count * record->weight);
        return;
    }
    if (kind != DF_UNIT_SUMS && !p->is_unit) {
        df_add_limbs(group, p, entry, p->weight_limbs, (int64_t) record->count * record->weight);
        entry += p->weight_limbs;
    }
    const int64_t product = (kind == DF_UNIT_SUMS ? (int64_t) 1 : (int64_t) record->weight) * record->target;
    if (kind == DF_UNIT_SUMS || !p->is_wide) {
        df_add_limbs(group, p, entry, p->sum_limbs, product * record->count);
        return;
    }
    df_add_limbs(group, p, entry, p->sum_limbs, df_low_part(product) * record->count);
    df_add_limbs(group, p, entry + p->sum_limbs, p->sum_limbs, df_high_part(product) * record->count);
}

// The words of an entry's statistic; whether it has draws. n_words: 0 if not known.
template <int n_words> DF_INLINE bool df_read_entry(const df_problem *p, const uint32_t *entry, int64_t *words)
{
    const int64_t last = n_words ? n_words : p->n_words;
    if (df_has_classes(p) && p->is_unit) {
        int64_t n = 0;
        for (int64_t k = 2; k < last; k++) {
            words[k] = entry[k - 2];
            n += words[k];
        }
        words[0] = words[1] = n;
        return n > 0;
    }
    words[0] = df_count_at(entry);
    if (words[0] == 0)
        return false;
    entry += DF_COUNT_PLANES;
    if (df_has_classes(p)) {
        words[1] = 0;
        for (int64_t k = 2; k < last; k++) {
            words[k] = df_join_limbs(p, entry, p->weight_limbs);
            words[1] += words[k];
            entry += p->weight_limbs;
        }
        return true;
    }
    words[1] = words[0];
    if (!p->is_unit) {
        words[1] = df_join_limbs(p, entry, p->weight_limbs);
        entry += p->weight_limbs;
    }
    words[2] = df_join_limbs(p, entry, p->sum_limbs);
    if (p->is_wide)
        words[3] = df_join_limbs(p, entry + p->sum_limbs, p->sum_limbs);
    return true;
}

DF_INLINE void df_clear_entry(const df_problem *p, uint32_t *entry)
{
    for (int64_t k = 0; k < p->n_planes; k++)
        entry[k] = 0;
}

// Words of the flags of a feature.
DF_INLINE int64_t df_flag_words(const df_problem *p) { return (p->max_entries + 63) / 64; }

DF_INLINE void df_set_flag(const df_group &group, uint64_t *flags, int64_t code)
{
    if (group.n_items == 1)
        flags[code / 64] |= (uint64_t) 1 << (code % 64);
    else
        df_set_bits((uint32_t *) flags + code / 32, (uint32_t) 1 << (code % 32));
}

DF_INLINE void df_clear(const df_group &group, uint32_t *words, int64_t n)
{
    group.each([&](int64_t item) {
        for (int64_t i = item; i < n; i += group.n_items)
            words[i] = 0;
    });
}

// The entry of a key in a histogram: the key of a missing value is above all of values.
DF_INLINE int64_t df_entry_of(const df_draft *draft, uint64_t key) { return key <= draft->cut ? 0 : key <= draft->highest ? 1 : 2; }

// Ask for what is read soon. Only who works alone waits for memory: other items run meanwhile.
DF_INLINE void df_fetch(const void *from)
{
#ifdef DF_ONE_ITEM
    __builtin_prefetch(from);
#endif
}

template <class Code> DF_INLINE void df_fetch_row(const Code *row, int64_t row_codes, const int32_t *features, int64_t n_features)
{
    if (row_codes * (int64_t) sizeof(Code) <= 64) { // in a line, or two
        df_fetch(row);
        df_fetch(row + row_codes - 1);
    } else
        for (int64_t f = 0; f < n_features; f++)
            df_fetch(row + features[f]);
}

// known_planes: n_planes, or 0
template <int kind, int known_planes, class Code>
DF_CALLED void df_count_codes(const df_group &group, const df_problem *p, const Code *codes, const df_record *records, int64_t n,
                              const int32_t *__restrict features, int64_t n_features, const df_draft *__restrict drafts,
                              uint32_t *__restrict planes, uint64_t *__restrict flags)
{
    const int64_t row_codes = p->n_features, n_planes = known_planes ? known_planes : p->n_planes;
    const int64_t stride = p->max_entries * n_planes, flag_stride = df_flag_words(p);
    group.each([&](int64_t item) {
        for (int64_t i = item; i < n; i += group.n_items) {
            const df_record record = records[i];
            const Code *row = codes + (int64_t) record.row * row_codes;
            if (!flags && i + DF_AHEAD < n) // in subtrees, codes are at hand
                df_fetch_row(codes + (int64_t) records[i + DF_AHEAD].row * row_codes, row_codes, features, n_features);
            for (int64_t f = 0; f < n_features; f++) {
                const Code given = row[features[f]];
                const int64_t code = drafts && drafts[f].is_used ? df_entry_of(drafts + f, given) : (int64_t) given;
                df_add_draw<kind>(group, p, planes + f * stride + code * n_planes, &record);
                if (flags)
                    df_set_flag(group, flags + f * flag_stride, code);
            }
        }
    });
}

// use(codes), as codes of the bytes they have.
template <class Use> DF_INLINE auto df_with_codes(const df_problem *p, const char *codes, Use use)
{
    return p->code_bytes == 1   ? use((const uint8_t *) codes)
           : p->code_bytes == 2 ? use((const uint16_t *) codes)
           : p->code_bytes == 4 ? use((const uint32_t *) codes)
                                : use((const uint64_t *) codes);
}

template <int kind, int known_planes>
DF_INLINE void df_count_kind(const df_group &group, const df_problem *p, const char *codes, const df_record *records, int64_t n,
                             const int32_t *features, int64_t n_features, const df_draft *drafts, uint32_t *planes,
                             uint64_t *flags)
{
    df_with_codes(p, codes, [&](const auto *codes) {
        df_count_codes<kind, known_planes>(group, p, codes, records, n, features, n_features, drafts, planes, flags);
    });
}

// Fill the histograms of some features of a chunk.
//
// IN codes : [n_rows, n_features]
// IN draws : [n]
// IN features : [n_features]
// IN drafts : NULL, or [n_features]
// INOUT planes : [n_features, max_entries, n_planes]
// INOUT flags : NULL, or [n_features, df_flag_words]
DF_INLINE void df_count(const df_group &group, const df_problem *p, const char *codes, const df_record *records, int64_t n,
                        const int32_t *features, int64_t n_features, const df_draft *drafts, uint32_t *planes,
                        uint64_t *flags)
{
    const auto count = [&](auto kind, auto known_planes) {
        df_count_kind<kind.value, known_planes.value>(group, p, codes, records, n, features, n_features, drafts, planes, flags);
    };
    const df_number<0> any;
#ifdef DF_ONE_ITEM // the commonest cases; elsewhere they would take their time to compile
    if (!df_has_classes(p) && p->n_planes == 4)
        return count(df_number<DF_UNIT_SUMS>(), df_number<4>());
    if (df_has_classes(p) && !p->is_unit && p->n_planes == 6)
        return count(df_number<DF_WEIGHTED_CLASSES>(), df_number<6>());
    if (df_has_classes(p) && p->is_unit && p->n_planes == 2)
        return count(df_number<DF_UNIT_CLASSES>(), df_number<2>());
#endif
    if (!df_has_classes(p))
        count(df_number<DF_SUMS>(), any);
    else if (p->is_unit)
        count(df_number<DF_UNIT_CLASSES>(), any);
    else
        count(df_number<DF_WEIGHTED_CLASSES>(), any);
}

// Add up some draws in an entry.
DF_INLINE void df_add_up(const df_group &group, const df_problem *p, const df_record *records, int64_t n, uint32_t *entry)
{
#ifdef DF_ONE_ITEM
    if (!df_has_classes(p)) { // in registers
        int64_t sum[4] = {0, 0, 0, 0};
        if (p->is_wide)
            for (int64_t i = 0; i < n; i++)
                df_add_draws(DF_TARGET_SUM_WIDE, sum, records + i);
        else
            for (int64_t i = 0; i < n; i++)
                df_add_draws(DF_TARGET_SUM, sum, records + i);
        const int64_t skipped = p->is_unit ? 1 : -1; // its weights are its counts
        for (int64_t k = 0; k < p->n_words; k++)
            if (k != skipped) {
                df_add_word(entry, sum[k]);
                entry += 2;
            }
        return;
    }
#endif
    group.each([&](int64_t item) {
        if (!df_has_classes(p))
            for (int64_t i = item; i < n; i += group.n_items)
                df_add_draw<DF_SUMS>(group, p, entry, records + i);
        else if (!p->is_unit)
            for (int64_t i = item; i < n; i += group.n_items)
                df_add_draw<DF_WEIGHTED_CLASSES>(group, p, entry, records + i);
        else if (p->n_planes == 2) { // without waiting for memory
            uint32_t all = 0, second = 0;
            for (int64_t i = item; i < n; i += group.n_items) {
                all += records[i].count;
                second += records[i].count & (0u - (uint32_t) records[i].target);
            }
            df_add(group, entry, all - second);
            df_add(group, entry + 1, second);
        } else
            for (int64_t i = item; i < n; i += group.n_items)
                df_add_draw<DF_UNIT_CLASSES>(group, p, entry, records + i);
    });
}

DF_INLINE uint64_t df_code_at(const df_problem *p, const char *codes, uint32_t row, int32_t feature)
{
    const int64_t at = (int64_t) row * p->n_features + feature;
    return df_with_codes(p, codes, [&](const auto *codes) { return (uint64_t) codes[at]; });
}

// The code of missing values.
DF_INLINE uint64_t df_missing_code(const df_column *column)
{
    return column->key_bits == 0 ? column->n_codes : column->key_bits == 32 ? DF_MISSING_KEY32 : DF_MISSING_KEY64;
}

// Which draws go left: draws of codes up to a cut, and of one more: missing, or one that does so anyway. Of a categorical
// column, draws whose category is in a subset, or is not, if the missing go left.
struct df_left_test {
    const df_problem *p;
    const char *codes;
    int32_t feature;
    uint64_t cut, also;
    const uint64_t *subset;    // NULL: of numbers
    uint64_t n_codes;          // missing has the next one
    bool missing_left;
    bool goes_left(uint64_t code) const
    {
        if (subset)
            return df_category_goes_left(code, subset, n_codes, missing_left);
        return df_goes_left(code, cut, also);
    }
    bool operator()(uint32_t row) const { return goes_left(df_code_at(p, codes, row, feature)); }
};

// IN subset : of the cut; for numbers whatever
DF_INLINE df_left_test df_test_of(const df_problem *p, const df_column *columns, const char *codes, const df_split *cut,
                                  const uint64_t *subset)
{
    const uint64_t n_codes = df_missing_code(columns + cut->feature);
    const bool is_categorical = columns[cut->feature].kind == DF_CATEGORICAL;
    df_left_test test = {p, codes, cut->feature, df_last_left(cut->code, cut->only_missing, n_codes), 0,
                         is_categorical ? subset : (const uint64_t *) 0, n_codes, cut->missing_left != 0};
    test.also = cut->missing_left ? n_codes : test.cut;
    return test;
}

// Tell the sides of some draws, 1: left; return how many go left. OUT sides : [n]
DF_INLINE int64_t df_tell_sides(const df_group &group, const df_left_test &test, const df_record *records, int64_t n, uint8_t *sides)
{
    return df_with_codes(test.p, test.codes, [&](const auto *codes) {
        const int64_t row_codes = test.p->n_features;
        const auto *column = codes + test.feature;
        return group.sum([&](int64_t item) {
            int64_t left = 0;
            for (int64_t i = item; i < n; i += group.n_items) {
                if (i + DF_AHEAD < n)
                    df_fetch(column + (int64_t) records[i + DF_AHEAD].row * row_codes);
                sides[i] = test.goes_left(column[(int64_t) records[i].row * row_codes]);
                left += sides[i];
            }
            return left;
        });
    });
}

#endif
