// Histograms of codes, in memory that the items of a group share.
// Entries, and their planes: see target.hpp. *Flags* may tell which codes occur, a bit each.
#ifndef DFOREST_KERNELS_HISTOGRAM_HPP
#define DFOREST_KERNELS_HISTOGRAM_HPP

#include "target.hpp"
#include "rules/cut.h"
#include "rules/ordered_keys.h"

enum { DF_AHEAD = 64 };        // records ahead whose codes are asked for

// Words of the flags of a feature.
DF_INLINE int64_t df_flag_words(const df_problem *p) { return (p->max_entries + 63) / 64; }

DF_INLINE void df_set_flag(const df_group &group, uint64_t *flags, int64_t code)
{
    if (group.n_items == 1)
        flags[code / 64] |= (uint64_t) 1 << (code % 64);
    else
        df_set_bits((uint32_t *) flags + code / 32, (uint32_t) 1 << (code % 32));
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
    df_for(group, 0, n, [&](int64_t i) {
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

// Count the draws of a chunk, of several outputs, in planes: a size once for each feature, and an addend of each output.
template <class Code>
DF_CALLED void df_count_outputs(const df_group &group, const df_problem *p, const Code *codes, const df_record *records,
                                int64_t n, const int32_t *features, int64_t n_features, const df_draft *drafts,
                                const df_targets *targets, uint32_t *planes, uint64_t *flags)
{
    const int64_t stride = p->max_entries * p->n_planes;
    df_for(group, 0, n, [&](int64_t i) {
        const df_record record = records[i];
        const Code *row = codes + (int64_t) record.row * p->n_features;
        const auto code_of = [&](int64_t f) {
            const Code given = row[features[f]];
            return drafts && drafts[f].is_used ? df_entry_of(drafts + f, given) : (int64_t) given;
        };
        for (int64_t f = 0; f < n_features; f++) {
            const int64_t code = code_of(f);
            df_add_size(group, p, planes + f * stride + code * p->n_planes, &record);
            if (flags)
                df_set_flag(group, flags + f * df_flag_words(p), code);
        }
        for (int64_t o = 0; o < p->n_outputs; o++) {
            const df_addend addend = df_addend_of(p, targets->outputs + o, df_exact_target(p, targets, record.row, o), &record);
            for (int64_t f = 0; f < n_features; f++)
                addend.add(group, p, planes + f * stride + code_of(f) * p->n_planes);
        }
    });
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
// IN targets : of several outputs
// INOUT planes : [n_features, max_entries, n_planes]
// INOUT flags : NULL, or [n_features, df_flag_words]
DF_INLINE void df_count(const df_group &group, const df_problem *p, const char *codes, const df_record *records, int64_t n,
                        const int32_t *features, int64_t n_features, const df_draft *drafts, const df_targets *targets,
                        uint32_t *planes, uint64_t *flags)
{
    if (df_has_outputs(p))
        return df_with_codes(p, codes, [&](const auto *codes) {
            df_count_outputs(group, p, codes, records, n, features, n_features, drafts, targets, planes, flags);
        });
    df_with_kind(p, [&](auto kind, auto n_planes) {
        df_count_kind<kind.value, n_planes.value>(group, p, codes, records, n, features, n_features, drafts, planes, flags);
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
        return df_sum_over(group, 0, n, [&](int64_t i) {
            if (i + DF_AHEAD < n)
                df_fetch(column + (int64_t) records[i + DF_AHEAD].row * row_codes);
            return sides[i] = test.goes_left(column[(int64_t) records[i].row * row_codes]);
        });
    });
}

#endif
