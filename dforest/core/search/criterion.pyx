"""The criteria of classes, and the base of all.

Formulas: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, chapter 4. All
sums are integers (see `dforest.core.types`), so they depend on no order; float64 appears only in
impurities, scores and leaf values, each one expression of criteria.h.

A criterion owns `scratch`; everything else it is handed.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from dforest.core.loops cimport loops
from dforest.core.search.sums cimport BINARY_SUMS, CLASS_COUNTER_SUMS, NO_SUMS
from dforest.core.search.packed_sums cimport DF_COUNTED_CLASSES, unpack_sums
from dforest.core.types cimport CLASS_WEIGHTS, Record
from dforest.rules.categories cimport df_class_response, df_largest_class
from dforest.rules.criteria cimport df_class_impurity, df_has_one_class
from dforest.rules.numerics cimport df_imbalance
from dforest.rules.records cimport DF_ENTROPY, DF_GINI, DF_HELLINGER

from dforest.core.component import CriterionError

cdef extern from *:
    int df_lowest_bit "__builtin_ctzll"(uint64_t x) nogil

cdef extern from "core/search/best_cut.h" nogil:
    int64_t df_best_class_cut(int64_t criterion, const int64_t* left, int64_t n, const int64_t* total, int64_t n_words,
                              double* score)

MIN_IMPURITY = -1e-9


cdef void add_outputs(Criterion criterion, int64_t* statistic, const Record* record) noexcept nogil:
    loops.outputs.add(&criterion.outputs, statistic, record)


cdef bint allows(Criterion criterion, const int64_t* left, const int64_t* total) noexcept nogil:
    cdef double score
    return criterion.best_cut(left, 1, total, &score) == 0


cdef Py_ssize_t most_balanced(Criterion criterion, const int64_t* left, Py_ssize_t n, const int64_t* total,
                              Py_ssize_t best) noexcept nogil:
    """The most balanced cut that is allowed, the first of several, where no cut scores above 0.

    best : one that is allowed; of a built-in criterion, the first
    """
    cdef Py_ssize_t i, found = best, n_words = criterion.n_words, first = best + 1 if criterion.is_built_in else 0
    cdef int64_t imbalance, least = df_imbalance(0.0, left[best * n_words + 1], total[1])
    for i in range(first, n):
        imbalance = df_imbalance(0.0, left[i * n_words + 1], total[1])
        if imbalance < least or (imbalance == least and i < found):
            least = imbalance
            found = i
    if found == best or allows(criterion, left + found * n_words, total):
        return found
    least = df_imbalance(0.0, left[best * n_words + 1], total[1])
    for i in range(first, n):          # seldom: each that is more even is asked about
        imbalance = df_imbalance(0.0, left[i * n_words + 1], total[1])
        if ((imbalance < least or (imbalance == least and i < best))
                and allows(criterion, left + i * n_words, total)):
            least = imbalance
            best = i
    return best


cdef class Criterion:
    """Base class of criteria, which measure the impurity of nodes and score splits.

    Criteria of classes derive from `ClassCriterion`, those of numbers from `NumberCriterion`, and those that are written in
    Python from `PythonCriterion`. The contract of criteria in Cython is the head of ``dforest/core/search/criterion.pxd``.

    A *statistic* is a sum over a set of draws, as words of 64 bits: the number of draws, their integer weight, and further words
    that depend on the criterion. For criteria of classes these are the weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.criterion import Gini
    >>> criterion = Gini().configure(n_classes=2)
    >>> criterion.impurity_of(np.array([4, 4, 2, 2]))  # four draws of weight 1, two of each class
    0.5
    """

    methods_in_c = (
        "impurity", "node_impurity", "best_cut", "score", "value", "leaf_value", "open_node", "join_node", "score_exponent",
        "mean_responses",
    )
    in_python = "dforest.criterion.PythonCriterion"
    isolates = False               # whether trees are isolation trees, in which categories that a node lacks go with the rarest

    def __cinit__(self, *args, **kwargs):
        self.scratch = NULL
        self.is_additive = True
        self.n_outputs = 1

    def __dealloc__(self):
        free(self.scratch)

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        """Set what the criterion must know of the task; forests call this method once, before trees are grown.

        Parameters
        ----------
        n_classes : int
            Number of classes; 0 for regression.
        wide : bool
            For regression, whether sums of weight times target may need more than 63 bits and are kept in two
            words, the low 31 bits and the rest. This is needed if the largest weight times the number of draws is
            above 2**31.

        Returns
        -------
        self
            This criterion.

        Raises
        ------
        ValueError
            If the criterion is not for such a task.
        """
        self.n_classes = n_classes
        self.is_wide = wide
        return self

    def clone(self):
        """Return a copy of this criterion, with its class, its parameters and its settings of `configure`."""
        return self.__sklearn_clone__().configure(self.n_classes, self.is_wide)

    cdef int fail(self, error) except -1:
        if not self.has_failed:
            self.error = error
            self.has_failed = True
        return 0

    cdef int check(self) except -1 nogil:
        if self.has_failed:
            with gil:
                raise self.error
        return 0

    cdef Py_ssize_t ask_best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t best = self.best_cut(left, n, total, score)
        if best == -1 or not (self.is_built_in or self.can_be_used("best_cut", best, n, score[0])):
            return -1
        return most_balanced(self, left, n, total, best) if score[0] == 0.0 and n > 1 else best

    cdef bint can_be_used(self, const char* method, Py_ssize_t place, Py_ssize_t n, double score) noexcept nogil:
        """Whether a cut is one of n, and its score is one; if not, the forest will raise."""
        if 0 <= place < n and 0.0 <= score < INFINITY:
            return True
        self.refuse_cut(method, place, n, score)
        return False

    cdef void refuse_cut(self, const char* method, Py_ssize_t place, Py_ssize_t n, double score) noexcept nogil:
        with gil:
            name = f"{type(self).__name__}.{method.decode()}"
            if 0 <= place < n:
                self.fail(CriterionError(f"{name} gave cut {place} the score {score}; a score is a finite number from 0"))
            else:
                self.fail(CriterionError(f"{name} returned {place} for {n} cuts; allowed are 0 to {n - 1}, and -1: no cut"))

    cdef void refuse_impurity(self, double found) noexcept nogil:
        with gil:
            least = " from 0" if self.n_classes else ""
            self.fail(CriterionError(f"{type(self).__name__}.impurity returned {found}; allowed are finite numbers{least}"))

    cdef int reserve(self, Py_ssize_t n_words) except -1:
        self.n_words = n_words
        free(self.scratch)
        self.scratch = <int64_t*> calloc(n_words, sizeof(int64_t))
        if self.scratch == NULL:
            raise MemoryError()
        return 0

    cdef int attach(self, Py_ssize_t n_records) except -1:
        return 0

    cdef int open_node(self, Node* node) except -1 nogil:
        with gil:
            raise TypeError(f"{type(self).__name__} does not define open_node")

    cdef SumsKind sums_kind(self) noexcept nogil:
        return NO_SUMS

    cdef int open_summed(self, Node* node, const Sums* sums) except -1 nogil:
        return self.open_node(node)

    cdef void number_targets(self, const Node* node) noexcept nogil:
        pass

    cdef void restore_targets(self, const Node* node) noexcept nogil:
        pass

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        cdef Node again = node[0]
        again.statistics = self.scratch
        return self.open_node(&again)

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        return 0.0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t i, k, best = 0
        cdef double s, highest = -1.0, impurity = self.impurity(total), at_left, at_right
        cdef double parent = <double> total[1] * impurity
        cdef int64_t* right = self.scratch
        if not -INFINITY < impurity < INFINITY or (self.n_classes > 0 and impurity < MIN_IMPURITY):
            self.refuse_impurity(impurity)
            return -1
        for i in range(n):
            for k in range(self.n_words):
                right[k] = total[k] - left[k]
            at_left = self.impurity(left)
            at_right = self.impurity(right)
            s = parent - <double> left[1] * at_left - <double> right[1] * at_right
            if not -INFINITY < s < INFINITY:
                self.refuse_impurity(at_right if -INFINITY < at_left < INFINITY else at_left)
                return -1
            if s < 0.0:
                s = 0.0
            if s > highest:
                highest = s
                best = i
            left += self.n_words
        score[0] = highest
        return best

    cdef double node_impurity(self, const Node* node) noexcept nogil:
        return self.impurity(node.statistics)

    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                             double* responses) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n):
            responses[i] = 0.0

    cdef double value(self, const Node* node, const int64_t* statistic) noexcept nogil:
        return 0.0

    cdef bint has_one_score(self, const Node* node) noexcept nogil:
        return False

    cdef int score_exponent(self, const Node* node) noexcept nogil:
        return 0

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        out[0] = self.value(node, node.statistics)
        return 0

    def score_cuts(self, const int64_t[:, ::1] left not None, const int64_t[::1] total not None, bint base=False):
        """Return the best of some splits of a node, and its score.

        Parameters
        ----------
        left : ndarray of shape (n, n_words), dtype int64
            Statistics of the left sides of the splits.
        total : ndarray of shape (n_words,), dtype int64
            Statistic of the node.
        base : bool
            Whether to compute scores from impurities alone, as the base class does, even if this criterion computes
            them otherwise.

        Returns
        -------
        (int, float)
            Number of the split with the highest score, the first of several, and that score; (-1, -1.0) if no split is
            allowed.
        """
        cdef double score
        cdef Py_ssize_t best
        if left.shape[0] == 0 or left.shape[1] != self.n_words or total.shape[0] != self.n_words:
            raise ValueError(f"statistics of {type(self).__name__} have {self.n_words} words")
        if base:
            best = Criterion.best_cut(self, &left[0, 0], left.shape[0], &total[0], &score)
        else:
            best = self.best_cut(&left[0, 0], left.shape[0], &total[0], &score)
        self.check()
        return best, score

    def impurity_of(self, const int64_t[::1] statistic not None):
        """Return the impurity of a set of draws, given its statistic: ndarray of shape (n_words,), dtype int64."""
        if statistic.shape[0] != self.n_words:
            raise ValueError(f"statistics of {type(self).__name__} have {self.n_words} words")
        impurity = self.impurity(&statistic[0])
        self.check()
        return impurity


cdef class ClassCriterion(Criterion):
    """Base class of criteria for classification, whose statistics hold the weight of each class.

    The words 2, 3, ... of a statistic are the weights of the classes 0, 1, ...; `Criterion` says what a statistic is. Subclasses
    are written in Cython.
    """

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        if n_classes < 1:
            raise ValueError(f"criterion={self!r} is for classification")
        Criterion.configure(self, n_classes, wide)
        self.kind = CLASS_WEIGHTS
        self.reserve(2 + n_classes)
        return self

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i, k
        cdef int64_t* s = node.statistics
        cdef int64_t w, n_draws = 0, weight = 0, second = 0
        cdef Record* record
        for k in range(self.n_words):
            s[k] = 0
        if self.n_classes == 2:          # in registers, without waiting for memory
            for i in range(node.n):
                record = &node.records[i]
                w = <int64_t> record.count * record.weight
                n_draws += record.count
                weight += w
                second += w & -<int64_t> record.target
            s[0] = n_draws
            s[1] = weight
            s[2] = weight - second
            s[3] = second
        else:
            for i in range(node.n):
                record = &node.records[i]
                w = <int64_t> record.count * record.weight
                n_draws += record.count
                s[2 + record.target] += w
            s[0] = n_draws
            for k in range(2, self.n_words):
                s[1] += s[k]
        node.is_pure = df_has_one_class(s, self.n_words)
        return 0

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        self.n_words = other.n_words
        return 0 if self.is_built_in else Criterion.join_node(self, node, other)

    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                             double* responses) noexcept nogil:
        """Shares of the node's largest class."""
        cdef Py_ssize_t i
        cdef int64_t largest = df_largest_class(total, self.n_words)
        for i in range(n):
            responses[i] = df_class_response(statistics, largest)
            statistics += self.n_words

    cdef double value(self, const Node* node, const int64_t* statistic) noexcept nogil:
        return <double> statistic[3] / <double> statistic[1] if self.n_classes == 2 else 0.0


cdef class RuleCriterion(ClassCriterion):
    """A criterion whose impurity and score are rules (criteria.h): those of its number there.

    A node of few draws has few of many classes. Its statistic has the weights of the classes that are *present*, in ascending
    order, and no more: the others would add 0 to every sum. Of ten classes and draws of the classes 7, 2 and 7, the classes 2
    and 7 are present, and the statistic is (3, 3, 1, 2). While a split is looked for, the targets of the node's records are 1, 0
    and 1, the places of their classes among those present.
    """

    def __dealloc__(self):
        free(self.present)
        free(self.places)
        free(self.occupancy)

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        ClassCriterion.configure(self, n_classes, wide)
        free(self.present)
        free(self.places)
        free(self.occupancy)
        self.present = <int32_t*> malloc(n_classes * sizeof(int32_t))
        self.places = <int32_t*> malloc(n_classes * sizeof(int32_t))
        self.occupancy = <uint64_t*> calloc(n_classes // 64 + 1, sizeof(uint64_t))
        if self.present == NULL or self.places == NULL or self.occupancy == NULL:
            raise MemoryError()
        return self

    cdef int open_node(self, Node* node) except -1 nogil:
        self.n_words = 2 + self.n_classes
        self.is_compact = node.n < self.compact_below
        return self.open_compact(node) if self.is_compact else ClassCriterion.open_node(self, node)

    cdef int open_compact(self, Node* node) noexcept nogil:
        cdef int64_t* s = node.statistics
        cdef const Record* record
        cdef Py_ssize_t i, at, n_present = 0
        cdef uint64_t word
        cdef int32_t class_
        for i in range(node.n):
            class_ = node.records[i].target
            self.occupancy[class_ >> 6] |= <uint64_t> 1 << (class_ & 63)
        for at in range(self.n_classes // 64 + 1):
            word = self.occupancy[at]
            self.occupancy[at] = 0
            while word:
                class_ = <int32_t> (64 * at) + df_lowest_bit(word)
                word &= word - 1
                self.places[class_] = <int32_t> n_present
                self.present[n_present] = class_
                n_present += 1
        self.n_words = 2 + n_present
        memset(s, 0, self.n_words * sizeof(int64_t))
        for i in range(node.n):
            record = &node.records[i]
            s[0] += record.count
            s[2 + self.places[record.target]] += <int64_t> record.count * record.weight
        for i in range(2, self.n_words):
            s[1] += s[i]
        node.is_pure = df_has_one_class(s, self.n_words)
        return 0

    cdef void number_targets(self, const Node* node) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(node.n):
            node.records[i].target = self.places[node.records[i].target]

    cdef void restore_targets(self, const Node* node) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(node.n):
            node.records[i].target = self.present[node.records[i].target]

    cdef SumsKind sums_kind(self) noexcept nogil:
        if self.n_classes == 2:
            return BINARY_SUMS
        return CLASS_COUNTER_SUMS if 2 < self.n_classes <= DF_COUNTED_CLASSES else NO_SUMS

    cdef int open_summed(self, Node* node, const Sums* sums) except -1 nogil:
        unpack_sums(sums, node.statistics, self.n_words)
        node.is_pure = df_has_one_class(node.statistics, self.n_words)
        return 0

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        return df_class_impurity(self.number, statistic, 2, self.n_words)

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        return df_best_class_cut(self.number, left, n, total, self.n_words, score)


cdef class Gini(RuleCriterion):
    """The Gini impurity as a criterion: 1 - sum of p_k**2, where p_k are the shares of the classes in a node.

    It is for classification, and ``criterion="gini"`` stands for it.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.criterion import Gini
    >>> Gini().configure(n_classes=2).impurity_of(np.array([4, 4, 3, 1]))  # four draws, of which three are of class 0
    0.375
    """

    def __cinit__(self, *args, **kwargs):
        self.number = DF_GINI


cdef class Entropy(RuleCriterion):
    """The Shannon entropy in bits as a criterion: -sum of p_k * log2(p_k), where p_k are the shares of the classes in a node.

    It is for classification, and ``criterion="entropy"`` or "log_loss" stands for it.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.criterion import Entropy
    >>> Entropy().configure(n_classes=2).impurity_of(np.array([4, 4, 2, 2]))  # four draws, two of each class
    1.0
    """

    def __cinit__(self, *args, **kwargs):
        self.number = DF_ENTROPY


cdef class Hellinger(RuleCriterion):
    """The impurity that belongs to the Hellinger distance, as a criterion: sqrt(p * (1 - p)), where p is the share of a class.

    It is for two classes, and ``criterion="hellinger"`` stands for it. Splits are compared by the Hellinger distance of their
    sides, which does not depend on how rare a class is.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.criterion import Hellinger
    >>> Hellinger().configure(n_classes=2).impurity_of(np.array([4, 4, 2, 2]))  # four draws, two of each class
    0.5
    """

    def __cinit__(self, *args, **kwargs):
        self.number = DF_HELLINGER

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        if n_classes > 2:
            raise ValueError(f'criterion="hellinger" is for two classes; y has {n_classes}')
        return ClassCriterion.configure(self, n_classes, wide)
