from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.search.incremental_evaluator cimport IncrementalEvaluator
from dforest.core.search.regression cimport SquaredError
from dforest.core.types cimport Node
from dforest.rules.logrank cimport df_exposed
from dforest.rules.numerics cimport df_exact_sum


cdef struct AtRisk:               # an entry of a Fenwick tree over event times, of the draws on the left
    int64_t weight
    df_exact_sum sum              # of weight * C


cdef class SurvivalCriterion(SquaredError):
    cdef readonly int64_t n_times      # of all training rows
    # Of the open node, whose event times are numbered from 1:
    cdef Py_ssize_t n_events           # how many of these times there are
    cdef double risk                   # the sum of its cumulative hazard over all event times of the training rows
    cdef int shift, digits             # of weights, and of steps, in variances
    cdef uint64_t* sort_keys           # [n_records]
    cdef uint64_t* sort_keys_to        # [n_records]
    cdef uint64_t* entries             # [n_records] sort keys of entries
    cdef uint64_t* entries_to          # [n_records]
    cdef uint32_t* place               # [n_records] how many of the event times are not after each record's time
    cdef uint32_t* entered             # [n_records] how many of them are not after its entry
    cdef double* hazard                # [n_records + 1] cumulative, up to each of them
    cdef int64_t* at_risk              # [n_records + 1] weight of the draws at risk at each, as variances count it
    cdef int64_t* steps                # [n_records + 1] C: the sum of the steps of variance up to each
    cdef df_exact_sum* products        # [n_records + 1] the sum of step * weight at risk up to each
    # Of exact weights: see logrank.h
    cdef double* sums                  # [2 * n_records + 2]
    cdef df_exposed* exposed           # [n_records]
    cdef int64_t* entering             # [n_records]

    cdef void sort_times(self, const Node* node) noexcept nogil
    cdef double exact_risk(self, const Node* node) noexcept nogil
    cdef void release(self) noexcept nogil


cdef class LogRank(SurvivalCriterion):
    pass


cdef class LogRankScore(SurvivalCriterion):
    cdef double factor                 # what makes a decrease of squared residuals the statistic


cdef class LogRankEvaluator(IncrementalEvaluator):
    cdef LogRank of_node             # the criterion, which knows what there is of the open node
    cdef int64_t weight              # of the draws on the left, as variances count it
    cdef df_exact_sum products       # sum of their weight * `SurvivalCriterion.products`
    cdef df_exact_sum pairs          # sum over all pairs of them: see df_pairs_change
    cdef AtRisk* left                # [n_records + 1] Fenwick tree over the node's event times
    # For a single cut there is no tree: the variance is summed up time by time.
    cdef bint is_single_cut
    # [n_records + 1] weight of the left draws whose last event time is each, less that of those that enter after it:
    cdef int64_t* leaving

    cdef void move_to(self, int64_t weight, Py_ssize_t place) noexcept nogil
    cdef df_exact_sum variance(self) noexcept nogil
