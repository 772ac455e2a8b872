"""The fast scans of the built-in criteria, and the register of all: see scans.pxd.

A `FastScans` owns nothing; its loops are those of `dforest.core.loops`.
"""
from dforest.core.loops cimport DF_FEW, DF_FEW_CLASSES, DF_TWIG_CLASSES, DF_TWIG_PAIRS, DF_TWIG_SUMS, loops
from dforest.core.search.words cimport DF_CLASS_LANES
from dforest.rules.criteria cimport df_measure_squares

from dforest.core.search.criterion import Gini
from dforest.core.search.regression import SquaredError

cdef dict _registered = {}       # FastScans by class of criterion


def register_scans(type criterion not None, type scans not None):
    """Register fast scans beside a criterion.

    Parameters
    ----------
    criterion : type
        A class of criteria: this one alone, and none that derives from it.
    scans : type
        A class derived from `FastScans`, made as ``scans(criterion)``.

    Raises
    ------
    TypeError
        If either is of another kind.
    """
    if not issubclass(criterion, Criterion):
        raise TypeError(f"criterion={criterion!r}; allowed are classes derived from Criterion")
    if not issubclass(scans, FastScans):
        raise TypeError(f"scans={scans!r}; allowed are classes derived from FastScans")
    _registered[criterion] = scans


def fast_scans(Criterion criterion not None):
    """The fast scans of a criterion that is configured, or None."""
    return scans_of(criterion)


cdef FastScans scans_of(Criterion criterion):
    scans = _registered.get(type(criterion))
    return scans(criterion) if scans is not None else None


cdef class FastScans:
    """Base class; see scans.pxd. One that sets none of its attributes is never asked.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    """

    def __cinit__(self, Criterion criterion not None):
        self.criterion = criterion

    cdef void open_node(self, const Node* node) noexcept nogil:
        pass

    cdef Py_ssize_t best_word(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                              double* score) noexcept nogil:
        return -1

    cdef Py_ssize_t best_lanes(self, const uint64_t* run, const uint64_t* more, Py_ssize_t n, const uint64_t* offset,
                               const int64_t* total, double* score) noexcept nogil:
        return -1

    cdef void best_few(self, const df_few* few, uint64_t offset, const int64_t* total, df_cut* cut) noexcept nogil:
        cut.score = -1.0

    cdef void best_small(self, const uint32_t* run, int n, uint32_t offset, const int64_t* total, double least,
                         df_cut* cut) noexcept nogil:
        cut.score = -1.0


cdef class GiniScans(FastScans):
    """Gini impurity: two classes by all scans but that of lanes, more by this one and among few records."""

    def __cinit__(self, Criterion criterion not None):
        cdef Py_ssize_t n_classes = criterion.n_classes
        self.takes_words = self.takes_small = self.has_bounds = n_classes == 2
        self.takes_lanes = 2 < n_classes <= DF_CLASS_LANES
        self.few = DF_FEW if n_classes == 2 else DF_FEW // 2 if n_classes <= DF_FEW_CLASSES else 0
        self.twig_words = DF_TWIG_PAIRS if n_classes == 2 else DF_TWIG_CLASSES if n_classes <= DF_FEW_CLASSES else 0

    cdef Py_ssize_t best_word(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                              double* score) noexcept nogil:
        return loops.gini(run, n, offset, <double> total[1], <double> total[2], score)

    cdef Py_ssize_t best_lanes(self, const uint64_t* run, const uint64_t* more, Py_ssize_t n, const uint64_t* offset,
                               const int64_t* total, double* score) noexcept nogil:
        return loops.gini_lanes(run, more, n, offset, <double> total[1], &total[2], <int> self.criterion.n_classes, score)

    cdef void best_few(self, const df_few* few, uint64_t offset, const int64_t* total, df_cut* cut) noexcept nogil:
        if self.takes_small:
            loops.few_pairs(few, offset, <double> total[1], <double> total[2], cut)
        else:
            loops.few_classes(few, offset, <double> total[1], &total[2], <int> self.criterion.n_classes, cut)

    cdef void best_small(self, const uint32_t* run, int n, uint32_t offset, const int64_t* total, double least,
                         df_cut* cut) noexcept nogil:
        loops.small_pairs(run, n, offset, <double> total[1], <double> total[2], least, cut)


cdef class SquareScans(FastScans):
    """Squared error, where sums fit one word."""

    def __cinit__(self, Criterion criterion not None):
        self.takes_words = not criterion.is_wide
        self.few = DF_FEW // 2 if self.takes_words else 0
        self.twig_words = DF_TWIG_SUMS if self.takes_words else 0

    cdef void open_node(self, const Node* node) noexcept nogil:
        if self.takes_words:
            df_measure_squares(node.statistics, False, &self.measure)

    cdef Py_ssize_t best_word(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                              double* score) noexcept nogil:
        return loops.square(run, n, offset, <double> total[1], <double> self.measure.mean, self.measure.remainder, score)

    cdef void best_few(self, const df_few* few, uint64_t offset, const int64_t* total, df_cut* cut) noexcept nogil:
        loops.few_sums(few, offset, <double> total[1], <double> self.measure.mean, self.measure.remainder, cut)


register_scans(Gini, GiniScans)
register_scans(SquaredError, SquareScans)
