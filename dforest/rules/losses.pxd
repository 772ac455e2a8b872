"""The losses of boosted trees; see losses.h."""
from libc.stdint cimport int64_t

cdef extern from "rules/losses.h" nogil:
    ctypedef enum df_loss_number:
        DF_SQUARED_LOSS, DF_ABSOLUTE_LOSS, DF_QUANTILE_LOSS, DF_HUBER_LOSS, DF_FAIR_LOSS, DF_LOG_COSH_LOSS
        DF_MAPE_LOSS, DF_POISSON_LOSS, DF_GAMMA_LOSS, DF_TWEEDIE_LOSS, DF_CROSS_ENTROPY_LOSS, DF_LOG_LOSS, DF_FOCAL_LOSS
        DF_EXPONENTIAL_LOSS, DF_MULTINOMIAL_LOSS, DF_N_LOSSES
    enum:
        DF_FINITE_TARGETS, DF_TARGETS_FROM_0, DF_TARGETS_ABOVE_0, DF_TARGETS_TO_1, DF_TWO_CLASSES, DF_CLASS_NUMBERS
        DF_NEWTON_LEAF, DF_MEDIAN_LEAF, DF_RELATIVE_LEAF, DF_QUANTILE_LEAF, DF_ROBUST_LEAF
    ctypedef struct df_loss_facts:
        const char* name
        bint has_constant_hessian
        int targets, leaf
    ctypedef struct df_derivatives:
        double gradient, hessian
    df_loss_facts df_facts_of_loss(int loss)
    bint df_is_of_classes(int targets)
    df_derivatives df_derivatives_of_loss(int loss, double raw, double y, double parameter)
    void df_predictions_of_loss(int loss, const double* raw, int64_t n, double* prediction)
    double df_relative_weight(double y)
    double df_robust_term(int loss, double residual, double median, double parameter)
    double df_most_robust_term(int loss, double parameter)
    double df_value_of_loss(int loss, double raw, double y, double parameter)
    void df_multinomial_derivatives(const double* raw, int64_t y, double* gradient, double* hessian, int64_t step,
                                    int64_t n_classes)
    double df_multinomial_loss(const double* raw, int64_t y, double* scratch, int64_t step, int64_t n_classes)
