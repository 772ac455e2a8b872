"""How predictions are smoothed from the root down; see smoothing.h."""

cdef extern from "rules/smoothing.h" nogil:
    double df_share_of_draws(double n, double n_all, double strength)
    double df_smoothed(double above, double own, double share)
