/* How a small subtree is grown, depth first (C99 and C++): see small_subtree.h. */
#ifndef DFOREST_SMALL_GROWTH_H
#define DFOREST_SMALL_GROWTH_H

#include "core/grow/small_search.h"
#include "core/grow/small_subtree.h"

/* Grow a small subtree from its uppermost node. is_random : cuts are drawn; else they are the best ones */
DF_INLINE void df_small_grow_loop(df_small_subtree *small, const int kind, const int is_random) {
    df_small_node stack[DF_SMALL + 1]; /* right children still to come */
    df_small_node *node = &small->nodes[0];
    df_small_open open;
    open.left = 0; /* which a compiler can't see is always set before it is read */
    int n_stack = 0;
    uint32_t words[2][DF_FIRST_WORDS];
    small->n_nodes = 1;
    if (DF_WORDS_AHEAD)
        df_first_words(small->seed, node->key, node->words);
    if (!is_random)
        df_small_copy(small, kind);
    for (;;) {
        const uint64_t left_key = df_child_key(node->key, 0), right_key = df_child_key(node->key, 1);
        node->is_pure = node->n == 1;
        if (node->n > 1) {
            if (DF_WORDS_AHEAD && node->n > 2) /* now, as nothing waits for them */
                df_first_words_of_two(small->seed, left_key, right_key, words);
            node->is_pure = (uint8_t)df_small_open_node(small, kind, node, &open);
            if (!node->is_pure && node->depth < small->max_depth && open.draws >= small->min_split) {
                open.left = 0;
                if (!DF_WORDS_AHEAD)
                    df_first_words(small->seed, node->key, node->words);
                if (node->n == 2)
                    df_small_part_two(small, is_random, node, &open);
                else
                    df_small_search(small, kind, is_random, node, &open);
            }
        }
        if (node->feature >= 0) {
            const int n_left = df_small_part(small->order + node->first, node->n, open.left);
            df_small_node *left = &small->nodes[small->n_nodes], *right = &stack[n_stack++];
            left->key = left_key;
            right->key = right_key;
            if (DF_WORDS_AHEAD && node->n > 2) {
                memcpy(left->words, words[0], sizeof(words[0]));
                memcpy(right->words, words[1], sizeof(words[1]));
            }
            left->constants = right->constants = node->constants;
            left->depth = right->depth = node->depth + 1;
            left->feature = right->feature = -1;
            left->first = node->first;
            left->n = (uint8_t)n_left;
            right->first = (uint8_t)(node->first + n_left);
            right->n = (uint8_t)(node->n - n_left);
            left->parent = right->parent = (uint8_t)(small->n_nodes - 1);
            left->is_right = 0;
            right->is_right = 1;
            left->scale = right->scale = node->scale;
            small->n_nodes++;
            node = left;
            continue;
        }
        if (n_stack == 0)
            break;
        node = &small->nodes[small->n_nodes++];
        *node = stack[--n_stack];
    }
    if (!is_random)
        df_small_free_slots(small);
}

#endif
