/* Rows that boosting draws by chances of their own, "minimal variance sampling" (C99 and C++).
 *
 * The more a row's derivatives say, the likelier it is drawn: with s its *importance*, by the chance p = min(1, s / m), where m is
 * such that chances add up to the number of rows that are asked for, nearly. Derivatives of a drawn row are divided by p, so
 * that sums over drawn rows have the sums over all rows as their means. Of all chances that do, these have sums of gains of least
 * variance. The importance of a row is the square root of the sum, over its raw predictions, of g^2 + (r h)^2, with g its gradient, h
 * its Hessian, and r the sum of the magnitudes of all gradients over that of all Hessians: the size that steps have.
 *
 * Importances become integers of up to 30 bits. So m follows from sums of integers that don't depend on the order of rows: numbers of
 * rows and sums of importances in *steps*, of which 32 divide each power of two. Rows in the step that m falls into may have a chance
 * of 1, though m says more; so there are a little fewer rows than asked for.
 *
 * B. Ibragimov, G. Gusev, "Minimal variance sampling in stochastic gradient boosting", NeurIPS 2019. */
#ifndef DFOREST_CHANCES_H
#define DFOREST_CHANCES_H

#include <math.h>
#include <stdint.h>

enum { DF_STEPS_OF_POWER = 32, DF_IMPORTANCE_STEPS = 32 * 32 };

/* The step of an importance above 0. */
static inline int df_step_of(uint32_t importance) {
    int exponent;
    const double fraction = frexp((double)importance, &exponent);
    return (exponent - 1) * DF_STEPS_OF_POWER + (int)((fraction - 0.5) * (2 * DF_STEPS_OF_POWER));
}

/* The least importance of a step. */
static inline double df_step_begin(int step) {
    return ldexp(0.5 + (double)(step % DF_STEPS_OF_POWER) / (2 * DF_STEPS_OF_POWER), step / DF_STEPS_OF_POWER + 1);
}

/* m, given how many rows have an importance in each step, and the sums of these. */
static inline double df_importance_of_certain(const int64_t *counts, const int64_t *sums, int64_t n_drawn) {
    double below = 0.0, left = (double)n_drawn;
    int step;
    for (step = 0; step < DF_IMPORTANCE_STEPS; ++step)
        below += (double)sums[step]; /* exact below 2^53; beyond, in one order */
    for (step = DF_IMPORTANCE_STEPS - 1; step > 0 && df_step_begin(step) * left > below; --step) {
        below -= (double)sums[step];
        left -= (double)counts[step];
    }
    return left > 0.0 && below > 0.0 ? below / left : 0.0;
}

/* Whether a row is drawn. word : a random one */
static inline int df_is_drawn(uint32_t word, uint32_t importance, double of_certain) {
    return (double)word * of_certain < ldexp((double)importance, 32);
}

/* What derivatives of a drawn row are multiplied by. */
static inline double df_inverse_chance(uint32_t importance, double of_certain) {
    return (double)importance < of_certain ? of_certain / (double)importance : 1.0;
}

#endif
