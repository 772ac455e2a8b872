"""Ranking: losses of pairs of rows in a group, and what rankings are worth. Formulas and words are those of ranking.h.

Losses own what their parameters say; the memory for the rows of a group is there while the group is looked at.
"""
cimport cython
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from numbers import Integral, Real

import numpy as np

from dforest.core.boost.loss cimport GroupedRows, Loss
from dforest.core.loops cimport df_rank_rule, df_ranked, loops
from dforest.rules.numerics cimport df_log2

from dforest.core.threads import each

cdef extern from "core/boost/ranking.h" nogil:
    ctypedef struct df_rank_scale:
        const double* gain
        const double* discount
        int64_t n_gains, n_discounts
    size_t df_ranked_bytes(int64_t n)
    df_ranked df_rank_rows(void* memory, const double* grade, const double* raw, int64_t n, const df_rank_scale* scale)
    double df_ideal_dcg(const double* grade, int64_t n, int64_t n_places, const df_rank_scale* scale, int64_t* counts)
    double df_dcg(const df_ranked* ranked, int64_t n, int64_t n_places)
    double df_average_precision(const df_ranked* ranked, int64_t n, int64_t n_places)
    void df_rank_losses(const df_ranked* ranked, int64_t n, const df_rank_rule* rule, double unit, double* loss)
    void df_rank_factors(const df_rank_rule* rule, double unit, double size, double* gradient, double* hessian)

cdef enum:
    N_DISCOUNTS = 4096                 # that are listed
    GROUPS_AT_A_TIME = 256             # that a thread scores

cdef double[::1] _discounts = np.empty(N_DISCOUNTS)


def _list_discounts():
    cdef int64_t i
    for i in range(N_DISCOUNTS):
        _discounts[i] = 1.0 / df_log2(2.0 + <double> i)


_list_discounts()

MAX_GRADE = 31                         # without gains of one's own
GAINS = tuple(float(2**grade - 1) for grade in range(MAX_GRADE + 1))


cdef df_rank_scale scale_of(const double[::1] gains) noexcept:
    """The scale of some gains, which are borrowed."""
    cdef df_rank_scale scale
    scale.gain = &gains[0]
    scale.n_gains = gains.shape[0]
    scale.discount = &_discounts[0]
    scale.n_discounts = N_DISCOUNTS
    return scale


def _refuse(name, value, allowed):
    raise ValueError(f"{name}={value!r}; allowed are {allowed}")


cdef class RankLoss(Loss):
    """What losses of pairs share."""

    of_groups = True

    cdef readonly object truncation_level
    cdef readonly object sigmoid
    cdef df_rank_rule rule
    cdef df_rank_scale scale
    cdef double[::1] gains_of_grades

    def configure(self, Py_ssize_t n_classes=0):
        """See `Loss.configure`."""
        if n_classes:
            raise ValueError(f"loss={self!r} is for grades of rows; y has {n_classes} classes")
        Loss.configure(self)
        level, sigmoid = self.truncation_level, self.sigmoid
        if level is not None and (isinstance(level, bool) or not isinstance(level, Integral) or level < 1):
            _refuse("truncation_level", level, "integers from 1 on" + ("" if self.rule.by_ndcg else ", and None"))
        if isinstance(sigmoid, bool) or not isinstance(sigmoid, Real) or not 0 < sigmoid <= 1e6:
            _refuse("sigmoid", sigmoid, "numbers above 0, up to 1e6")
        self.rule.truncation = min(int(level), 2**62) if level is not None else 2**62
        self.rule.sigmoid = sigmoid
        self.gains_of_grades = np.array(self.gains)
        self.scale = scale_of(self.gains_of_grades)

    @property
    def gains(self):
        """What rows of the grades 0, 1, ... add to DCG at the first place: tuple of float."""
        return GAINS

    def fit_intercept_only(self, y_true, sample_weight=None):
        """See `Loss.fit_intercept_only`: 0, as nothing changes if a number is added to the raw predictions of a group."""
        return 0.0

    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        cdef void* memory = self.memory_for(n)
        cdef df_ranked ranked
        cdef double size, unit = 1.0, of_gradient = 0.0, of_hessian = 0.0
        cdef int64_t i
        if memory == NULL:
            return
        ranked = df_rank_rows(memory, y, raw, n, &self.scale)
        unit = self.unit_of(y, n, memory)
        size = loops.boost.rank_pairs(&ranked, n, &self.rule)
        df_rank_factors(&self.rule, unit, size, &of_gradient, &of_hessian)
        for i in range(n):
            gradient[ranked.row[i]] = of_gradient * ranked.gradient[i]
            hessian[ranked.row[i]] = of_hessian * ranked.hessian[i]
        free(memory)

    cdef void loss(self, const double* y, const double* raw, int64_t n, double* loss) noexcept nogil:
        cdef void* memory = self.memory_for(n)
        cdef df_ranked ranked
        if memory == NULL:
            return
        ranked = df_rank_rows(memory, y, raw, n, &self.scale)
        df_rank_losses(&ranked, n, &self.rule, self.unit_of(y, n, memory), loss)
        free(memory)

    cdef void* memory_for(self, int64_t n) noexcept nogil:
        """Memory for a group of n rows, and for a count of each grade at its end; NULL, and `fail` was told, if there is none."""
        cdef void* memory = malloc(counts_at(n) + self.scale.n_gains * sizeof(int64_t))
        if memory == NULL:
            with gil:
                self.fail(MemoryError())
        return memory

    cdef double unit_of(self, const double* y, int64_t n, void* memory) noexcept nogil:
        """1 over the greatest DCG of a group, of the places below the truncation level; 0 if that is 0."""
        cdef double dcg
        if not self.rule.by_ndcg:
            return 1.0
        dcg = df_ideal_dcg(y, n, self.rule.truncation, &self.scale, <int64_t*> (<char*> memory + counts_at(n)))
        return 1.0 / dcg if dcg > 0.0 else 0.0


cdef size_t counts_at(int64_t n) noexcept nogil:
    """Where counts begin in the memory for a group."""
    return (df_ranked_bytes(n) + 7) // 8 * 8


@cython.final
cdef class LambdaRank(RankLoss):
    """LambdaMART's loss for ranking: pairs of rows that are in the wrong order count by what NDCG loses.

    It is what ``loss="lambdarank"`` of `HistGradientBoostingRanker` stands for, with the defaults of the parameters.

    Parameters
    ----------
    truncation_level : int, default=30
        Pairs count of which one row at least is among this many rows of the highest predictions of its group. NDCG is that of
        these places.
    sigmoid : float, default=1.0
        Factor of differences of predictions: the probability that a model gives to a pair is 1 / (1 + exp(-sigmoid *
        difference)).
    normalize : bool, default=True
        Whether a pair counts less, the farther its predictions are apart, and groups with many wrong pairs count less than in
        proportion to these, as in LightGBM.
    label_gain : sequence of float, optional
        What a row of the grade 0, 1, ... adds to NDCG at the first place; finite numbers from 0 on that do not fall. None means
        2**grade - 1, for grades up to 31.

    References
    ----------
    C. J. C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", Microsoft Research, MSR-TR-2010-82, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.loss import LambdaRank
    >>> gradient, _ = LambdaRank(normalize=False).configured(0).derivatives(np.array([0.0, 1.0]), np.zeros((2, 1)))
    >>> bool(gradient[0] > 0 > gradient[1])  # the second row is to rise
    True
    """

    parameters = ("truncation_level", "sigmoid", "normalize", "label_gain")
    name = "lambdarank"

    cdef readonly object normalize
    cdef readonly object label_gain

    def __init__(self, truncation_level=30, sigmoid=1.0, normalize=True, label_gain=None):
        self.truncation_level, self.sigmoid, self.normalize, self.label_gain = truncation_level, sigmoid, normalize, label_gain
        self.rule.by_ndcg = True

    def configure(self, Py_ssize_t n_classes=0):
        """See `Loss.configure`."""
        if self.truncation_level is None:
            _refuse("truncation_level", None, "integers from 1 on")
        if not isinstance(self.normalize, (bool, np.bool_)):
            _refuse("normalize", self.normalize, "True and False")
        self.rule.is_normalised = self.normalize
        RankLoss.configure(self, n_classes)

    @property
    def gains(self):
        """What rows of the grades 0, 1, ... add to DCG at the first place: tuple of float."""
        if self.label_gain is None:
            return GAINS
        allowed = "sequences of finite numbers from 0 on that do not fall, and None"
        try:
            gains = np.asarray(self.label_gain, np.float64)
        except (TypeError, ValueError):
            _refuse("label_gain", self.label_gain, allowed)
        is_allowed = gains.ndim == 1 and 0 < len(gains) <= 2**16 and np.isfinite(gains).all()
        if not is_allowed or gains[0] < 0 or (np.diff(gains) < 0).any():
            _refuse("label_gain", self.label_gain, allowed)
        return tuple(gains.tolist())

    def in_y_true_range(self, y_true):
        """See `Loss.in_y_true_range`. Raises ValueError, which says what is allowed, if grades are not."""
        check_grades(y_true, self.gains, f"loss={self!r}", 'loss="pairwise" takes any numbers, and LambdaRank(label_gain=...) '
                     "a gain for each of more grades")
        return True


@cython.final
cdef class PairwiseRank(RankLoss):
    """RankNet's loss for ranking: all pairs of rows that are in the wrong order count alike.

    A pair loses ln(1 + exp(-sigmoid * difference)), where the difference is the prediction of the row of higher grade less that
    of the other one. It is what ``loss="pairwise"`` of `HistGradientBoostingRanker` stands for, with the defaults of the
    parameters. Only the order of grades counts, so that they may be any finite numbers.

    Parameters
    ----------
    truncation_level : int, optional
        Pairs count of which one row at least is among this many rows of the highest predictions of its group. None means that
        all pairs count; a fit then takes time in proportion to the squares of the sizes of groups.
    sigmoid : float, default=1.0
        Factor of differences of predictions.

    References
    ----------
    C. Burges et al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.loss import PairwiseRank
    >>> gradient, hessian = PairwiseRank().configured(0).derivatives(np.array([0.5, 1.5]), np.zeros((2, 1)))
    >>> gradient[:, 0].tolist(), hessian[:, 0].tolist()
    ([0.5, -0.5], [0.25, 0.25])
    """

    parameters = ("truncation_level", "sigmoid")
    name = "pairwise"

    def __init__(self, truncation_level=None, sigmoid=1.0):
        self.truncation_level, self.sigmoid = truncation_level, sigmoid


RANK_LOSSES = {cls.name: cls for cls in (LambdaRank, PairwiseRank)}


def have_gains(y, gains):
    """Which targets are grades that have gains, integers from 0 on: ndarray of bool."""
    return (y >= 0) & (y < len(gains)) & (y == np.floor(y))


def check_grades(y, gains, what, instead):
    """Raise ValueError unless targets are grades that have gains: integers from 0 on.

    what, instead : what asks for that, and what can be done about it
    """
    wrong = np.flatnonzero(~have_gains(y, gains))
    if len(wrong):
        raise ValueError(f"y holds {y[wrong[0]]}; allowed with {what} are integers from 0 to {len(gains) - 1}; {instead}")


def scores_of_groups(metric, const double[::1] y not None, const double[::1] raw not None, GroupedRows groups not None, k=None,
                     gains=GAINS, int n_threads=1):
    """What the ranking of each group is worth.

    Rows of equal raw predictions count by the mean over their orders: F. McSherry, M. Najork, "Computing information retrieval
    performance measures efficiently in the presence of tied scores", ECIR 2008.

    Parameters
    ----------
    metric : {"ndcg", "map"}
        NDCG, the discounted gains of the first places over the greatest ones; or the average precision, for which a row is
        relevant if its grade is above 0. Both are 1 for groups where no order is better than another one as no row has a gain,
        or is relevant.
    y, raw : ndarray of shape (n_rows,), dtype float64
        Grades, and raw predictions.
    groups : GroupedRows
        Of these rows.
    k : int, optional
        How many of the first places count. None means all.
    gains : sequence of float
        Of the grades 0, 1, ...
    n_threads : int

    Returns
    -------
    ndarray of shape (n_groups,), dtype float64
        A group without rows has 1.
    """
    cdef int64_t n_places = 2**62 if k is None else min(int(k), 2**62)
    cdef bint is_ndcg = metric == "ndcg"
    cdef const double[::1] own_gains = np.array(gains, np.float64)
    cdef const double[::1] grades = groups.together(np.asarray(y)), ranked = groups.together(np.asarray(raw))
    cdef int64_t n_groups = groups.starts.shape[0] - 1
    result = np.ones(n_groups)
    cdef double[::1] out = result

    def work(int64_t item, _):
        cdef int64_t first = item * GROUPS_AT_A_TIME, last = min(n_groups, first + GROUPS_AT_A_TIME)
        score_groups(is_ndcg, grades, ranked, groups.starts, first, last, n_places, own_gains, out)

    each((n_groups + GROUPS_AT_A_TIME - 1) // GROUPS_AT_A_TIME, work, n_threads, 20.0 * len(y))
    return result


cdef int score_groups(bint is_ndcg, const double[::1] grades, const double[::1] raw, const int64_t[::1] starts, int64_t first,
                      int64_t last, int64_t n_places, const double[::1] gains, double[::1] out) except -1:
    """Score some groups, whose rows stand together."""
    cdef df_rank_scale scale = scale_of(gains)
    cdef df_ranked ranked
    cdef int64_t g, n, most = 0
    cdef double ideal
    cdef void* memory
    for g in range(first, last):
        most = max(most, starts[g + 1] - starts[g])
    memory = malloc(counts_at(most) + scale.n_gains * sizeof(int64_t))
    if memory == NULL:
        raise MemoryError()
    with nogil:
        for g in range(first, last):
            n = starts[g + 1] - starts[g]
            if n == 0:
                continue
            ranked = df_rank_rows(memory, &grades[starts[g]], &raw[starts[g]], n, &scale)
            if is_ndcg:
                ideal = df_ideal_dcg(&grades[starts[g]], n, n_places, &scale, <int64_t*> (<char*> memory + counts_at(most)))
                if ideal > 0.0:
                    out[g] = df_dcg(&ranked, n, n_places) / ideal
            else:
                out[g] = df_average_precision(&ranked, n, n_places)
    free(memory)
    return 0
