"""ordered_keys.h, and numerics.h however it is compiled, without integers of 128 bits or with vectors, against Python's."""

import ctypes
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from twins import losses

import dforest

SOURCE = """
#include "rules/ordered_keys.h"
#include "rules/numerics.h"
uint32_t key32(float x) { return df_ordered_key32(x); }
uint64_t key64(double x) { return df_ordered_key64(x); }
uint64_t last_key(double x, int is_wide) { return df_last_key(x, is_wide); }
double value_of(uint64_t key, int is_wide) { return df_value_of(key, is_wide); }
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
void sum_digits(const int64_t *a, const int64_t *b, int64_t n, int64_t *digits)
{
    df_exact_sum sum;
    memset(&sum, 0, sizeof sum);
    for (int64_t i = 0; i < n; i++)
        df_add_product(&sum, a[i], b[i]);
    df_sum_digits(&sum, digits);
}
double value_of_digits(const int64_t *digits)
{
    const df_exact_sum sum = df_sum_of_digits(digits);
    return df_sum_value(&sum);
}
double times(int64_t a, int64_t b, int64_t c) { return df_big_value(df_big_times(df_big_product(a, b), c)); }
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
    for name in ("cross", "offset_sum", "squares", "times", "value_of_digits"):
        getattr(library, name).restype = ctypes.c_double
    library.floor_mean.restype = ctypes.c_int64
    library.key32.restype, library.key32.argtypes = ctypes.c_uint32, [ctypes.c_float]
    library.key64.restype, library.key64.argtypes = ctypes.c_uint64, [ctypes.c_double]
    library.last_key.restype, library.last_key.argtypes = ctypes.c_uint64, [ctypes.c_double, ctypes.c_int]
    library.value_of.restype, library.value_of.argtypes = ctypes.c_double, [ctypes.c_uint64, ctypes.c_int]
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


def test_products_of_three(numerics):
    rng = np.random.default_rng(0)
    for a, b, x in zip(*(integers(rng, 3000, bits) for bits in (62, 32, 32)), strict=True):
        assert numerics.times(*c(a, b, x)) == nearest(a * b * x)


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


MISSING_KEYS = {np.float32: 0xFF800001, np.float64: 0xFFF0000000000001}


def all_floats(dtype):
    """Floats of all sizes, ascending, neighbours among them; 0 once."""
    rng = np.random.default_rng(0)
    limits = np.finfo(dtype)
    x = np.concatenate([rng.standard_normal(300) * 2.0 ** rng.integers(-150, 128, 300), [0.0, 1.0, np.inf]])
    with np.errstate(over="ignore"):
        x = np.concatenate([x.astype(dtype), [limits.max, limits.tiny, limits.smallest_subnormal]]).astype(dtype)
        return np.unique(np.concatenate([x, np.nextafter(x, dtype(np.inf)), np.nextafter(x, dtype(0)), -x]) + dtype(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keys_order_like_values(numerics, dtype):
    is_wide = dtype == np.float64
    key = numerics.key64 if is_wide else numerics.key32
    x = all_floats(dtype)
    keys = [key(v) for v in x]
    assert keys == sorted(set(keys)) and keys[-1] + 1 == MISSING_KEYS[dtype]
    assert [numerics.value_of(k, is_wide) for k in keys] == x.tolist()
    assert key(-0.0) == key(0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_last_keys(numerics, dtype):
    """Values up to a threshold, of either type, are those of keys up to its last key."""
    is_wide = dtype == np.float64
    x = all_floats(dtype)
    keys = np.array([(numerics.key64 if is_wide else numerics.key32)(v) for v in x], np.uint64)
    for threshold in np.concatenate([all_floats(np.float64), x, [-0.0, 3.5e38, -3.5e38, 1e300, -1e300, -np.inf]]):
        last = numerics.last_key(threshold, is_wide)
        assert last < MISSING_KEYS[dtype]
        assert np.array_equal(keys <= last, x.astype(np.float64) <= threshold), threshold


@pytest.mark.parametrize("bits", [3, 31, 40, 62])
def test_digits_of_sums_add_up(numerics, bits):
    """Several sums are added up digit by digit, without a carry."""
    rng = np.random.default_rng(bits)
    total, digits = 0, np.zeros(4, np.int64)
    for _ in range(50):
        a, b = (np.array(integers(rng, 4, bits), np.int64) for _ in range(2))
        own = np.zeros(4, np.int64)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b)]
        numerics.sum_digits(*pointers, ctypes.c_int64(4), own.ctypes.data_as(ctypes.c_void_p))
        assert sum(int(digit) << (32 * k) for k, digit in enumerate(own)) == sum(map(int.__mul__, a.tolist(), b.tolist()))
        assert (own[:3] >= 0).all() and (own[:3] < 2**32).all()
        digits += own
        total += sum(map(int.__mul__, a.tolist(), b.tolist()))
        assert numerics.value_of_digits(digits.ctypes.data_as(ctypes.c_void_p)) == float(total)


@pytest.mark.parametrize("options", [["-O0"], ["-O3"], ["-O3", "-fno-trapping-math", "-march=native"]], ids=" ".join)
def test_exp_has_the_same_bits_however_it_is_compiled(options, tmp_path):
    """-march=native may have fused multiplications, which -ffp-contract=off forbids."""
    (tmp_path / "exp.c").write_text("""
#include "rules/numerics.h"
void exps(const double *x, double *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = df_exp(x[i]);
}
""")
    done = subprocess.run(
        ["cc", *options, "-ffp-contract=off", "-shared", "-fPIC", "-I", dforest.get_include(),
         "-o", tmp_path / "exp.so", tmp_path / "exp.c", "-lm"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode != 0 and "-march=native" in options and "march" in done.stderr:
        pytest.skip("the compiler has no -march=native")
    assert done.returncode == 0, done.stderr
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-720, 720, 2001), rng.normal(size=1000), [0.0, -0.0, -1e300, 1e300]])
    out = np.empty_like(x)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, out)]
    ctypes.CDLL(str(tmp_path / "exp.so")).exps(*pointers, ctypes.c_int64(len(x)))
    assert out.tolist() == [losses.exp(v) for v in x.tolist()]
