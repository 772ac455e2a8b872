"""Tests of the ground that kernels stand on: how numbers are rounded, and what items of groups share."""

import numpy as np
import pytest

from dforest.engines.device import kernel_source

SOURCE = """#include "group.hpp"
DF_KERNEL df_probe_rounding(const double *a, const double *b, const double *c, int64_t n, double *out, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        group.each([&](int64_t item) {
            for (int64_t i = group.number * group.n_items + item; i < n; i += group.n_groups * group.n_items) {
                out[3 * i] = a[i] * b[i] + c[i];
                out[3 * i + 1] = a[i] / b[i];
                out[3 * i + 2] = a[i] * b[i] - c[i] * b[i];
            }
        });
    }
}
DF_KERNEL df_probe_adding(const uint64_t *x, int64_t n, uint64_t *sum, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        group.each([&](int64_t item) {
            for (int64_t i = group.number * group.n_items + item; i < n; i += group.n_groups * group.n_items)
                df_add_anywhere(sum, x[i]);
        });
    }
}
DF_KERNEL df_probe_local(int64_t *out, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        int64_t *shared = (int64_t *) group.local;
        group.each([&](int64_t item) { shared[item] = item * item; });
        group.each([&](int64_t item) { out[group.number * group.n_items + item] = shared[group.n_items - 1 - item]; });
    }
}
"""


@pytest.fixture
def probe(another, monkeypatch):
    """A device whose kernels are those above."""
    monkeypatch.setattr(kernel_source, "main", lambda: SOURCE)
    monkeypatch.setattr(kernel_source, "kernels", lambda: kernel_source.parse(SOURCE))
    return another


def test_every_operation_is_rounded(probe):
    a, b, c = np.random.default_rng(0).standard_normal((3, 1000))
    out = probe.empty((1000, 3), np.float64)
    probe.run("df_probe_rounding", 10, probe.array(a), probe.array(b), probe.array(c), 1000, out)
    assert out.get().tobytes() == np.column_stack([a * b + c, a / b, a * b - c * b]).tobytes()


@pytest.mark.parametrize("n_items", [1, 16])
def test_sums_of_all_groups_are_exact(probe, n_items):
    x = np.random.default_rng(0).integers(0, 2**64, 20000, np.uint64)
    x[::2] |= np.uint64(0xFFFFFFFF)  # sums of lower halves overflow
    total = probe.zeros(1, np.uint64)
    probe.run("df_probe_adding", 50, probe.array(x), len(x), total, n_items=n_items)
    assert total.get()[0] == x.sum()


def test_sums_without_atomics_of_64_bits(no_atomic64, probe):
    test_sums_of_all_groups_are_exact(probe, 16)


@pytest.mark.parametrize("n_items", [1, 5, 64])
def test_items_of_a_group_share_memory(probe, n_items):
    out = probe.empty((7, n_items), np.int64)
    probe.run("df_probe_local", 7, out, n_items=n_items, n_local=8 * n_items)
    np.testing.assert_array_equal(out.get(), np.tile(np.arange(n_items)[::-1] ** 2, (7, 1)))
