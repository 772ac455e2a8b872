"""The contract of a loss of boosted trees: what rows lose by their raw predictions, and its derivatives.

A row's *raw prediction* is a number, or, of more than two classes, one for each; it is a constant, the *intercept*, and what the
leaves of all trees so far add. Each iteration of training asks for the first and the second derivative of each row's loss by
its raw predictions, its *gradient* and *Hessian*, and grows a tree for each raw prediction.

What a subclass brings:

(a) `gradient_hessian`, and `loss` for early stopping by the loss. `inverse_link` where raw predictions are not what is to be
    predicted. Everything else has a default.
(b) Attributes of the class: `constant_hessian = True` if the Hessian is 1 for all rows; it is then not asked for, and trees count
    rows instead. `of_groups = True` if the loss of a row depends on the other rows of its group, as in ranking: each question is
    then about the rows of one group. With a `leaf_value`, a leaf has the value that it says, and not Newton's step: for losses
    whose Hessian says nothing, as that of the absolute error. `need_update_leaves_values = False` takes Newton's step after all.
(c) `def` methods: `configure(n_classes)`, in which it may refuse what it is not for, and calls its base's;
    `in_y_true_range(y_true)`, which says whether targets are allowed; `fit_intercept_only(y_true, sample_weight)`, what raw
    predictions begin with.

Given: targets are finite numbers, or numbers of classes, 0, 1, ...; raw predictions and what is made of them lie row by row, a
row's `n_outputs` side by side.

Kept: nothing. A booster has a loss of its own, made from the class and its parameters (component.pxd), which all of its threads
ask at the same time, some thousand rows at a time.

Always: the same question has the same answer, in any thread, and rows do not depend on each other, but for those of a group with
`of_groups`: so the trees are the same for any number of threads. Gradients are finite, and Hessians finite and not below 0, up to
2**500 in magnitude. What a math library may round in another way gives another model on another machine: numerics.h has an
exponential and logarithms of dforest's own.
All methods run without the GIL. One that has to raise calls `fail` with the exception, which is raised as soon as somebody looks.

Half the square of what predictions lack, where they are too low; they may be too high:

    from libc.stdint cimport int64_t

    from dforest.core.boost.loss cimport Loss
    from dforest.core.component cimport CONTRACT
    from dforest.core.component import declare_contract

    declare_contract(__name__, CONTRACT)

    cdef class Shortfall(Loss):
        cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                                   double* hessian) noexcept nogil:
            cdef int64_t i
            for i in range(n):
                gradient[i] = min(raw[i] - y[i], 0.0)
                hessian[i] = raw[i] < y[i]
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t

from dforest.core.component cimport Component
from dforest.core.spin_team cimport SpinTeam


cdef double MOST             # of what a loss answers, in magnitude


cdef inline bint is_allowed(double x) noexcept nogil:
    return -MOST <= x <= MOST


@cython.final
cdef class GroupedRows:
    cdef readonly object numbers               # [n_rows] int64: of the groups of rows
    cdef readonly const int64_t[::1] starts    # [n_groups + 1] where groups begin if rows stand together
    cdef readonly const int64_t[::1] order     # [n_rows] the rows, together; None: they stand together


cdef class Loss(Component):
    cdef readonly Py_ssize_t n_classes   # 0 for regression
    cdef readonly Py_ssize_t n_outputs   # raw predictions of a row: 1, or n_classes if there are more than two
    cdef readonly bint is_asked_at_once  # about all rows: it is written in Python
    cdef readonly GroupedRows groups     # of the rows it is asked about; None: these are one group, if the loss is of groups
    cdef bint has_failed                 # `error` holds
    cdef object error                    # what `fail` was told first

    # Derivatives of n rows. y: [n], raw: [n, n_outputs]; OUT gradient, hessian : [n, n_outputs], the latter NULL with
    # `constant_hessian`.
    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil

    # The loss of each of n rows, without what doesn't depend on raw predictions. OUT loss : [n]
    cdef void loss(self, const double* y, const double* raw, int64_t n, double* loss) noexcept nogil

    # What is predicted: a number, or the probability of the second of two classes, or of each of several. By default numbers are
    # what raw predictions are; the probability is 1 / (1 + exp(-raw)), or in proportion to exp(raw). OUT prediction :
    # [n, n_outputs]
    cdef void inverse_link(self, const double* raw, int64_t n, double* prediction) noexcept nogil

    # What a leaf of n rows adds to their raw predictions, without the learning rate. Arrays are copies, to be reordered at will;
    # weight: [n]. With one raw prediction a row only.
    cdef double leaf_value(self, double* y, double* raw, double* weight, int64_t n) noexcept nogil

    cdef int64_t n_groups(self) noexcept nogil

    cdef void ask(self, int64_t group, int64_t n, const double* y, const double* raw, double* gradient,
                  double* hessian) noexcept nogil

    # Say that a method is not there.
    cdef int lack(self, str method) except -1

    # Keep an exception that is raised soon; in any thread, with the GIL.
    cdef int fail(self, error) except -1

    # Raise it.
    cdef int check(self) except -1 nogil


cdef extern from "core/boost/gradients.h" nogil:
    ctypedef struct df_known_derivatives:
        const double* gradient
        const double* hessian
        int64_t n_sums


@cython.final
cdef class CustomLoss:
    cdef Loss loss
    cdef SpinTeam team
    cdef readonly Py_ssize_t n_rows
    cdef int64_t chunk                     # rows of a call, at most
    cdef const double* y                   # [n_rows]
    cdef const double* weight              # [n_rows]; NULL: all are 1
    cdef const double* sums                # [n_outputs, n_rows] of leaf values
    cdef const double* baseline            # [n_outputs]
    cdef double[:, ::1] raw                # [n_rows, n_outputs] raw predictions, as the next
    cdef double[:, ::1] gradient
    cdef double[:, ::1] hessian            # None: it is 1
    cdef GroupedRows groups                # None: the loss is not of groups
    cdef const int64_t[::1] first_group    # [chunks of groups + 1] that begins in each
    cdef const double[::1] y_together      # [n_rows] y; None, as the next: rows stand together
    cdef double[:, :, ::1] together        # [2 or 3, n_rows, n_outputs] raw predictions, gradients and Hessians
    cdef double[:, ::1] of_leaves          # [3, n_rows] y, raw predictions and weights, leaf by leaf; None: nobody wants them
    cdef df_known_derivatives known
    cdef bint is_wrong                     # derivatives are not all allowed
    cdef object owners

    cdef int find(self, const double* sums, const double* baseline) except -1 nogil
    cdef void form_raw(self, int64_t item) noexcept nogil
    cdef void ask(self, int64_t item) noexcept nogil
    cdef void ask_groups(self, int64_t item) noexcept nogil
    cdef void check_derivatives(self, int64_t item) noexcept nogil
    cdef double leaf_value(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil
