"""Weighted quantiles of numbers that are spread over devices or ranks, found byte by byte.

The *key* of a number is an unsigned integer of 64 bits; keys order as numbers do (`rules/ordered_keys.h`). Whoever has numbers
says how much weight each value of a byte has, among the numbers whose bytes before it are known. Eight such steps give the
quantile, which is that of `df_weighted_quantile` to the bit, as weights are integers.
"""

import numpy as np

from dforest.rules import boosting
from dforest.rules.losses import weighted_quantile

N_BYTES = 8
NO_KEY = np.uint64(2**64 - 1)  # above all keys


def find_quantiles(n, quantile, weights_of_bytes, next_keys):
    """The quantiles of some sets of numbers.

    Parameters
    ----------
    n : int
        How many sets there are, none of which is empty.
    quantile : float
        From 0 to 1.
    weights_of_bytes : callable
        Given which byte, from 0, the first, and keys of shape (n,), dtype uint64, it returns the weight of each value of that
        byte among the numbers whose bytes before it are those of the keys: ndarray of shape (n, 256), dtype int64.
    next_keys : callable
        Given the indices of some sets, and a key for each, it returns the least key above it: ndarray of uint64. `NO_KEY`: there
        is none.

    Returns
    -------
    ndarray of shape (n,), dtype float64
    """
    keys, before, totals = np.zeros(n, np.uint64), np.zeros(n, np.int64), None
    for which in range(N_BYTES):
        weights = weights_of_bytes(which, keys)
        totals = weights.sum(axis=1) if totals is None else totals
        found = boosting.bytes_of_quantile(weights, before, totals, quantile)
        keys |= found.astype(np.uint64) << np.uint64(8 * (N_BYTES - 1 - which))
    values = boosting.values_of_keys(keys)
    ends = np.flatnonzero(boosting.end_at_quantile(before + weights[np.arange(n), found], totals, quantile))
    if len(ends):
        above = next_keys(ends, keys[ends])
        between = boosting.between_values(values[ends], boosting.values_of_keys(above))
        values[ends] = np.where(above < NO_KEY, between, values[ends])
    return values


def quantile_of_all(values, quantile, weight, ranks):
    """The weighted quantile of the numbers of all ranks. A collective.

    Parameters
    ----------
    values : ndarray of shape (n_own,), dtype float64
    quantile : float
    weight : ndarray of shape (n_own,), dtype uint32, or None
        Integer weights; None: all are 1.
    ranks : Communicator

    Returns
    -------
    float
    """
    if ranks.size == 1:
        return weighted_quantile(values, quantile, weight)
    own, weight = boosting.keys_of_values(values), np.ones(len(values), np.int64) if weight is None else weight.astype(np.int64)

    def weights_of_bytes(which, keys):
        shift, totals = np.uint64(8 * (N_BYTES - 1 - which)), np.zeros((1, 256), np.int64)
        among = slice(None) if which == 0 else own >> (shift + np.uint64(8)) == keys >> (shift + np.uint64(8))
        np.add.at(totals[0], (own[among] >> shift & np.uint64(255)).astype(np.intp), weight[among])
        return ranks.sum(totals)

    def next_keys(_, keys):
        return ranks.least(np.array([own[own > keys].min(initial=NO_KEY)], np.uint64))

    return find_quantiles(1, quantile, weights_of_bytes, next_keys).item()
