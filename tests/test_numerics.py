"""Tests of numerics.h where compilers have no integers of 128 bits, against those that have and against Python's."""

import ctypes
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest

import dforest

SOURCE = """
#include "numerics.h"
double cross(int64_t a, int64_t b, int64_t c, int64_t d) { return df_cross(a, b, c, d); }
int64_t floor_mean(int64_t low, int64_t high, int64_t weight) { return df_floor_mean(low, high, weight); }
double offset_sum(int64_t low, int64_t high, int64_t weight, int64_t mean) { return df_offset_sum(low, high, weight, mean); }
double squares(const int64_t *a, const int64_t *w, int64_t n)
{
    df_exact_sum sum;
    memset(&sum, 0, sizeof sum);
    for (int64_t i = 0; i < n; i++) {
        df_add_square(&sum, a[i], w[i]);
        df_add_product(&sum, a[i], -w[i]);
    }
    return df_sum_value(&sum);
}
int above(int64_t a, int64_t b, int64_t c, int64_t d) { return df_product_above(a, b, c, d); }
"""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module", params=["", "-DDF_NO_INT128"])
def numerics(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("numerics")
    (folder / "numerics.c").write_text(SOURCE)
    options = [request.param] if request.param else []
    subprocess.run(
        ["cc", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-I", dforest.get_include(), *options,
         "-o", folder / "numerics.so", folder / "numerics.c", "-lm"],
        check=True,
    )  # fmt: skip
    library = ctypes.CDLL(str(folder / "numerics.so"))
    for name in ("cross", "offset_sum", "squares"):
        getattr(library, name).restype = ctypes.c_double
    library.floor_mean.restype = ctypes.c_int64
    return library


def integers(rng, n, bits):
    """Integers of either sign and of all lengths up to so many bits."""
    return [int(x) >> int(k) for x, k in zip(rng.integers(-(2**bits), 2**bits, n), rng.integers(0, bits, n), strict=True)]


def c(*numbers):
    return [ctypes.c_int64(number) for number in numbers]


def nearest(exact):
    return float(Fraction(exact))  # rounds to nearest, ties to even


def test_differences_of_products(numerics):
    rng = np.random.default_rng(0)
    for a, b, x, y in zip(*(integers(rng, 3000, 62) for _ in range(4)), strict=True):
        assert numerics.cross(*c(a, b, x, y)) == nearest(a * b - x * y)
        assert numerics.above(*c(a, b, x, y)) == (a * b > x * y)
        assert numerics.cross(*c(a, b, a, b)) == 0.0


def test_means_of_sums_of_two_words(numerics):
    rng = np.random.default_rng(0)
    for low, high, weight in zip(integers(rng, 3000, 62), integers(rng, 3000, 61), integers(rng, 3000, 62), strict=True):
        weight = abs(weight) + 1
        total = high * 2**31 + low
        if abs(total) >= weight << 62:
            continue
        mean = total // weight
        assert numerics.floor_mean(*c(low, high, weight)) == mean
        assert numerics.offset_sum(*c(low, high, weight, mean)) == nearest(total - weight * mean)


def test_exact_sums(numerics):
    rng = np.random.default_rng(0)
    for n in (1, 2, 50):
        a, w = integers(rng, n, 32), [abs(x) for x in integers(rng, n, 57)]
        there = [np.array(x, np.int64) for x in (a, w)]
        found = numerics.squares(*(ctypes.c_void_p(x.ctypes.data) for x in there), ctypes.c_int64(n))
        assert found == nearest(sum(x * x * y - x * y for x, y in zip(a, w, strict=True)))
