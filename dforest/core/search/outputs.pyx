"""The criterion of several outputs: what each of them says of a node, and the mean of it.

Each output has a criterion of its own, made from the one that the forest was given, and a statistic has the words of one output
after another:

    word 0, 1                draws, weight
    words of output 0        class weights, or the sum of weight times target
    words of output 1        ...

An impurity is the mean over outputs, and so is the score of a cut, as in scikit-learn: these rules, and the order in which floats
are summed up, are those of rules/outputs.h, which kernels have too.

Exact targets, and class numbers, are in `Node.y`, row by row. When a node is opened, the targets of each output become integers,
at a scale that fits the node's own; they are put into a table, record by record, and `Record.target` becomes the row of the
table. So draws of all outputs are added up in one pass over the records. A scale holds for one node only: nothing has to be known
of a node before it is opened. With squared error, and sums of one word, the integers are counted from their mean in the node,
rounded down: scores are formed of sums around the mean.

With squared error, and built-in criteria of classes, loops over all outputs do the work (outputs.h). Of other criteria, each
opens the node for its own output, given the records and the targets of that output.

A `MultiOutput` belongs to one thread, like any criterion. It owns the table, a copy of the node's records, and scratch; while
threads share a node, they read the table of the one whose node it is.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from cpython.ref cimport PyObject

from dforest.core.loops cimport loops
from dforest.core.search.criterion cimport Criterion, RuleCriterion
from dforest.core.search.sums cimport df_copy_words
from dforest.core.types cimport CLASS_WEIGHTS, OUTPUTS, Node, Record
from dforest.rules.criteria cimport df_has_one_class, df_measure, df_measure_squares
from dforest.rules.outputs cimport df_category_fraction, df_output_factor, df_response_spread, df_response_term, df_spread_term
from dforest.rules.records cimport DF_GINI, df_draw_kind

from dforest.core.component import CriterionError
from dforest.core.search.regression import SquaredError

cdef extern from "core/search/outputs.h" nogil:
    void df_add_class_scores(int64_t number, const int64_t* left, int64_t n, const int64_t* total, int64_t n_words,
                             int64_t first, int64_t end, double* scores)

cdef enum:
    CUTS = 256                 # that are scored together
    EXACT_WEIGHT = 1 << 10     # of a node in which weights times sums of targets are below 2**53


def _own_copy(Criterion pattern not None, n_outputs, output):
    """A copy of a criterion that knows how many outputs there are, and which one is its own."""
    cdef Criterion copy = pattern.__sklearn_clone__()
    copy.n_outputs = n_outputs
    copy.output = output
    return copy


cdef class MultiOutput(Criterion):
    """The criterion of several outputs.

    Parameters
    ----------
    parts : tuple of Criterion
        Of the outputs; configured, all of one class.

    Raises
    ------
    CriterionError
        If a criterion has other words in its statistics than those that its base class fills.
    """

    parameters = ("parts",)

    def __init__(self, tuple parts):
        cdef Py_ssize_t o, n_words = 2
        cdef Criterion part
        cdef bint has_rules = True, is_gini = True
        cdef Output* output
        self.parts = parts
        self.n_outputs = len(parts)
        self.each = <Output*> malloc(self.n_outputs * sizeof(Output))
        if self.each == NULL:
            raise MemoryError()
        memset(self.each, 0, self.n_outputs * sizeof(Output))
        for o in range(self.n_outputs):
            part = parts[o]
            output = &self.each[o]
            output.criterion = <PyObject*> part
            output.number = -1
            if part.is_built_in and isinstance(part, RuleCriterion):
                output.number = (<RuleCriterion> part).number
            output.first = n_words
            output.n_words = part.n_classes or (2 if part.is_wide else 1)
            n_words += output.n_words
            has_rules = has_rules and output.number >= 0
            is_gini = is_gini and output.number == DF_GINI
            if part.n_words != 2 + output.n_words:
                raise CriterionError(f"{type(part).__name__} has statistics of {part.n_words} words, those of an output have "
                                     f"{2 + output.n_words}; criteria with words of their own are for one output")
            self.is_built_in = (o == 0 or self.is_built_in) and part.is_built_in
            self.is_additive = (o == 0 or self.is_additive) and part.is_additive
        part = parts[0]
        self.is_wide = part.is_wide
        self.kind = OUTPUTS
        self.outputs.kind = <df_draw_kind> <int> part.kind
        self.sums_by_class = part.kind == CLASS_WEIGHTS
        self.outputs.n_outputs = self.n_outputs
        self.reserve(n_words)
        self.way = CLASSES_TOGETHER if has_rules else SQUARES_TOGETHER if type(part) is SquaredError else ONE_BY_ONE
        self.is_gini = is_gini
        self.part_left = <int64_t*> malloc(n_words * sizeof(int64_t))
        self.part_total = <int64_t*> malloc(n_words * sizeof(int64_t))
        self.numbers = <double*> calloc(7 * self.n_outputs, sizeof(double))
        self.mean = <int64_t*> calloc(self.n_outputs, sizeof(int64_t))
        self.exponents = <int32_t*> calloc(self.n_outputs, sizeof(int32_t))
        self.word = <int32_t*> malloc(self.n_outputs * sizeof(int32_t))
        if (self.part_left == NULL or self.part_total == NULL or self.numbers == NULL or self.mean == NULL
                or self.exponents == NULL or self.word == NULL):
            raise MemoryError()
        for o in range(self.n_outputs):
            self.word[o] = <int32_t> self.each[o].first
        self.remainder = self.numbers
        self.factor = self.numbers + self.n_outputs
        self.opening.lowest = self.numbers + 2 * self.n_outputs
        self.opening.highest = self.numbers + 3 * self.n_outputs
        self.opening.centre = self.numbers + 4 * self.n_outputs
        self.opening.first = self.numbers + 5 * self.n_outputs
        self.opening.second = self.numbers + 6 * self.n_outputs
        self.opening.mean = self.mean
        self.opening.exponent = self.exponents
        self.opening.word = self.word
        self.squares.mean = self.mean
        self.squares.remainder = self.remainder
        self.squares.factor = self.factor

    def __dealloc__(self):
        free(self.each)
        free(self.targets)
        free(self.own)
        free(self.part_left)
        free(self.part_total)
        free(self.own_y)
        free(self.own_weight)
        free(self.numbers)
        free(self.mean)
        free(self.exponents)
        free(self.word)

    @classmethod
    def of(cls, Criterion pattern not None, class_counts, bint wide):
        """A criterion for several outputs, each of which has a copy of its own.

        Parameters
        ----------
        pattern : Criterion
        class_counts : tuple of int
            Classes of each output; all 0: regression.
        wide : bool
            As of `Criterion.configure`.
        """
        return cls(tuple(_own_copy(pattern, len(class_counts), o).configure(n, wide) for o, n in enumerate(class_counts)))

    @property
    def class_counts(self):
        """How many classes each output has: tuple of int, all 0 for regression."""
        return tuple(part.n_classes for part in self.parts)

    def clone(self):
        return MultiOutput.of(self.parts[0], self.class_counts, self.is_wide)

    cdef int attach(self, Py_ssize_t n_records) except -1:
        cdef Py_ssize_t o
        self.targets = <int32_t*> malloc(n_records * self.n_outputs * sizeof(int32_t))
        self.own = <Record*> malloc(n_records * sizeof(Record))
        self.own_y = <double*> malloc(n_records * sizeof(double))
        self.own_weight = <double*> malloc(n_records * sizeof(double))
        if self.targets == NULL or self.own == NULL or self.own_y == NULL or self.own_weight == NULL:
            raise MemoryError()
        self.opening.targets = self.targets
        for o in range(self.n_outputs):
            (<Criterion> self.each[o].criterion).attach(n_records)
        return 0

    cdef int check(self) except -1 nogil:
        cdef Py_ssize_t o
        if not self.is_built_in:
            for o in range(self.n_outputs):
                (<Criterion> self.each[o].criterion).check()
        return Criterion.check(self)

    cdef void output_statistic(self, const Output* output, const int64_t* statistic, int64_t* to) noexcept nogil:
        to[0] = statistic[0]
        to[1] = statistic[1]
        df_copy_words(to + 2, statistic + output.first, output.n_words)
        if self.is_centred:
            to[2] += statistic[1] * self.mean[output - self.each]

    cdef void enter(self, const Node* node, Py_ssize_t o, bint with_targets, Node* part) noexcept nogil:
        cdef const Output* output = &self.each[o]
        cdef Py_ssize_t i
        cdef const int32_t* target = self.outputs.targets + o
        cdef int64_t mean = self.mean[o] if self.is_centred else -<int64_t> output.first if self.sums_by_class else 0
        part[0] = node[0]
        part.records = self.own
        part.rows = NULL
        part.y = self.own_y
        part.exact_weight = self.own_weight if node.exact_weight != NULL else NULL
        part.scale = output.scale
        part.is_pure = output.is_pure
        part.statistics = self.part_total
        self.output_statistic(output, node.statistics, self.part_total)
        for i in range(node.n):
            self.own[i] = node.records[i]
            self.own[i].row = <uint32_t> i
            self.own_y[i] = node.y[node.records[i].row * self.n_outputs + o]
            if node.exact_weight != NULL:
                self.own_weight[i] = node.exact_weight[node.records[i].row]
            if with_targets:
                self.own[i].target = <int32_t> (target[node.records[i].target * self.n_outputs] + mean)

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i
        self.opening.y = node.y
        self.outputs.targets = self.targets
        if self.way == ONE_BY_ONE:
            self.open_one_by_one(node)
        elif self.way == CLASSES_TOGETHER:
            loops.outputs.open_classes(node.records, node.n, self.n_outputs, self.n_words, &self.opening, node.statistics)
            self.find_pure(node)
        else:
            self.is_centred = not self.is_wide
            loops.outputs.open_numbers(node.records, node.n, self.n_outputs, self.is_wide, &self.opening, node.statistics)
            self.find_scales(node)
        for i in range(node.n):
            node.records[i].target = <int32_t> <uint32_t> i
        if not node.is_pure:
            self.requantise_weights(node)
        return 0

    cdef void find_pure(self, Node* node) noexcept nogil:
        """Find the outputs that have one class."""
        cdef Py_ssize_t o
        cdef Output* output
        node.is_pure = True
        for o in range(self.n_outputs):
            output = &self.each[o]
            output.is_pure = df_has_one_class(node.statistics + output.first - 2, 2 + output.n_words)
            node.is_pure = node.is_pure and output.is_pure

    cdef void find_scales(self, Node* node) noexcept nogil:
        """Find the outputs whose targets are equal, and the scales of the others."""
        cdef Py_ssize_t o
        cdef Output* output
        node.is_pure = True
        for o in range(self.n_outputs):
            output = &self.each[o]
            output.is_pure = self.opening.first[o] == 0.0
            output.scale.centre = self.opening.centre[o]
            output.scale.exponent = self.exponents[o]
            node.is_pure = node.is_pure and output.is_pure

    cdef int open_one_by_one(self, Node* node) except -1 nogil:
        """Have each output's own criterion open the node."""
        cdef Py_ssize_t i, o
        cdef Output* output
        cdef Node part
        cdef int32_t offset
        memset(node.statistics, 0, self.n_words * sizeof(int64_t))
        node.is_pure = True
        for o in range(self.n_outputs):
            output = &self.each[o]
            offset = <int32_t> output.first if self.sums_by_class else 0
            self.enter(node, o, False, &part)
            part.scale.centre = 0.0
            part.scale.exponent = 0
            part.scale.range = 0           # there is none: the criterion makes one
            for i in range(node.n):
                self.own[i].target = <int32_t> self.own_y[i] if self.sums_by_class else 0
            (<Criterion> output.criterion).open_node(&part)
            output.scale = part.scale
            output.is_pure = part.is_pure
            node.is_pure = node.is_pure and part.is_pure
            df_copy_words(node.statistics + output.first, self.part_total + 2, output.n_words)
            for i in range(node.n):
                self.targets[i * self.n_outputs + o] = self.own[i].target + offset
        node.statistics[0] = self.part_total[0]
        node.statistics[1] = self.part_total[1]
        return 0

    cdef void requantise_weights(self, const Node* node) noexcept nogil:
        cdef Py_ssize_t o
        cdef Output* output
        cdef Node part = node[0]
        cdef df_measure measure
        cdef bint is_first = True
        self.exponent = 0
        if self.way == CLASSES_TOGETHER:
            return                         # scores have no unit
        for o in range(self.n_outputs):
            output = &self.each[o]
            if output.is_pure:
                continue
            part.scale = output.scale
            output.exponent = (<Criterion> output.criterion).score_exponent(&part)
            self.exponent = output.exponent if is_first else max(self.exponent, output.exponent)
            is_first = False
        for o in range(self.n_outputs):
            output = &self.each[o]
            self.factor[o] = 0.0 if output.is_pure else df_output_factor(output.exponent, self.exponent)
            if self.way != SQUARES_TOGETHER:
                continue
            if self.is_wide:
                self.output_statistic(output, node.statistics, self.part_total)
                df_measure_squares(self.part_total, True, &measure)
                self.mean[o] = measure.mean
                self.remainder[o] = measure.remainder
            else:
                self.remainder[o] = <double> node.statistics[output.first]

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        cdef const Output* of_other = (<MultiOutput> other).each
        cdef Py_ssize_t o
        cdef Output* output
        cdef Node part
        self.outputs.targets = other.outputs.targets
        self.exponent = (<MultiOutput> other).exponent
        self.is_centred = (<MultiOutput> other).is_centred
        memcpy(self.numbers, (<MultiOutput> other).numbers, 7 * self.n_outputs * sizeof(double))
        memcpy(self.mean, (<MultiOutput> other).mean, self.n_outputs * sizeof(int64_t))
        for o in range(self.n_outputs):
            output = &self.each[o]
            output.scale = of_other[o].scale
            output.is_pure = of_other[o].is_pure
            output.exponent = of_other[o].exponent
            if self.way == ONE_BY_ONE:
                self.enter(node, o, not self.is_built_in, &part)
                (<Criterion> output.criterion).join_node(&part, <Criterion> of_other[o].criterion)
        return 0

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        cdef Py_ssize_t o
        cdef double total = 0.0
        for o in range(self.n_outputs):
            self.output_statistic(&self.each[o], statistic, self.part_total)
            total += (<Criterion> self.each[o].criterion).impurity(self.part_total)
        return total / <double> self.n_outputs

    cdef double node_impurity(self, const Node* node) noexcept nogil:
        cdef Py_ssize_t o
        cdef double total = 0.0
        cdef Node part
        for o in range(self.n_outputs):
            if not self.each[o].is_pure:
                self.enter(node, o, True, &part)
                total += (<Criterion> self.each[o].criterion).node_impurity(&part)
        return total / <double> self.n_outputs

    cdef bint has_one_score(self, const Node* node) noexcept nogil:
        """Which side of a cut a record is on changes no more than the sign of what is squared, if that is formed exactly."""
        return (self.is_gini or self.is_centred) and node.statistics[1] <= EXACT_WEIGHT

    cdef int score_exponent(self, const Node* node) noexcept nogil:
        return self.exponent

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        cdef Py_ssize_t o
        cdef Node part
        if node.is_pure:
            memcpy(out, node.y + node.records[0].row * self.n_outputs, self.n_outputs * sizeof(double))
            return 0
        for o in range(self.n_outputs):
            self.enter(node, o, True, &part)
            (<Criterion> self.each[o].criterion).leaf_value(&part, out + o)
        return 0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t i, first = 0, m, best = -1
        cdef double scores[CUTS]
        cdef double highest = -1.0
        while first < n:
            m = min(<Py_ssize_t> CUTS, n - first)
            self.score_each(left + first * self.n_words, m, total, scores)
            for i in range(m):
                if scores[i] > highest:
                    highest = scores[i]
                    best = first + i
            first += m
        score[0] = highest
        return best

    cdef void score_each(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* scores) noexcept nogil:
        cdef Py_ssize_t o, i
        cdef const Output* output
        if self.way == SQUARES_TOGETHER:
            loops.outputs.square_scores(left, n, total, self.n_outputs, self.is_wide, &self.squares, scores)
            return
        if self.is_gini:
            loops.outputs.gini_scores(left, n, total, self.n_words, self.n_outputs, <double*> self.part_left, scores)
            return
        for i in range(n):
            scores[i] = 0.0
        for o in range(self.n_outputs):
            output = &self.each[o]
            if output.is_pure:
                continue
            if output.number >= 0:
                df_add_class_scores(output.number, left, n, total, self.n_words, output.first, output.first + output.n_words,
                                    scores)
            else:
                self.add_scores(output, left, n, total, scores)
        for i in range(n):
            if scores[i] >= 0.0:
                scores[i] /= <double> self.n_outputs

    cdef void add_scores(self, const Output* output, const int64_t* left, Py_ssize_t n, const int64_t* total,
                         double* scores) noexcept nogil:
        """Add the scores of one output, asked for one by one; those of cuts that it does not allow stay below 0."""
        cdef Py_ssize_t i
        cdef double score
        self.output_statistic(output, total, self.part_total)
        for i in range(n):
            if scores[i] < 0.0:
                continue
            self.output_statistic(output, left + i * self.n_words, self.part_left)
            if (<Criterion> output.criterion).best_cut(self.part_left, 1, self.part_total, &score) < 0:
                scores[i] = -1.0
            elif self.is_built_in or (<Criterion> output.criterion).can_be_used("best_cut", 0, 1, score):
                scores[i] += score * self.factor[output - self.each]
            else:
                scores[i] = -1.0

    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                             double* responses) noexcept nogil:
        """Those of the output that the categories tell most about: its responses have the largest variance between them."""
        cdef Py_ssize_t o, best = 0
        cdef double spread, highest = -1.0
        for o in range(self.n_outputs):
            if not self.each[o].is_pure:
                spread = self.respond(&self.each[o], statistics, n, total, responses)
                if spread > highest:
                    highest = spread
                    best = o
        self.respond(&self.each[best], statistics, n, total, responses)

    cdef double respond(self, const Output* output, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                        double* responses) noexcept nogil:
        """Set the responses by one output; return their weighted variance between the categories, in units of all outputs."""
        cdef Py_ssize_t i
        cdef double fraction, mean = 0.0, spread = 0.0
        self.output_statistic(output, total, self.part_total)
        for i in range(n):
            self.output_statistic(output, statistics + i * self.n_words, self.part_left)
            (<Criterion> output.criterion).mean_responses(self.part_left, 1, self.part_total, responses + i)
            mean += df_response_term(df_category_fraction(self.part_left[1], total[1]), responses[i])
        for i in range(n):
            fraction = df_category_fraction(statistics[i * self.n_words + 1], total[1])
            spread += df_spread_term(fraction, responses[i], mean)
        return df_response_spread(spread, output.scale.exponent, self.each[0].scale.exponent)


cdef Criterion single_criterion(Criterion criterion):
    return (<MultiOutput> criterion).parts[0] if isinstance(criterion, MultiOutput) else criterion
