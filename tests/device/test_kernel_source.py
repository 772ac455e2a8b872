"""Tests of what is read off the source of kernels."""

import posixpath
import re

import numpy as np
import pytest

from dforest.engines.device import kernel_source
from dforest.engines.device.kernel_source import Parameter


def test_parameters_are_read():
    text = """
    // DF_KERNEL df_comment(int64_t n, DF_LOCAL)
    #define DF_KERNEL void
DF_KERNEL df_a(const float *x, /* rows, of
        n */ int64_t n, char *any,
        uint16_t* codes, // codes
        const double * const y, DF_LOCAL)
{ }
DF_KERNEL df_b(DF_LOCAL) { }
"""
    found = kernel_source.parse(text)
    assert list(found) == ["df_a", "df_b"]
    assert found["df_a"] == [
        Parameter("x", True, np.dtype("float32")),
        Parameter("n", False, None),
        Parameter("any", True, None),
        Parameter("codes", True, np.dtype("uint16")),
        Parameter("y", True, np.dtype("float64")),
    ]
    assert found["df_a"][2].dtype is None  # float64 == None, NumPy says
    assert found["df_b"] == []


@pytest.mark.parametrize("parameter", ["int n", "const long *x", "int64_t", "float x", "float **x"])
def test_other_parameters_are_refused(parameter):
    with pytest.raises(ValueError, match=re.escape(f"df_a takes {parameter!r}; allowed are int64_t and pointers")):
        kernel_source.parse(f"DF_KERNEL df_a({parameter}, DF_LOCAL)")


def test_the_memory_of_the_group_is_a_kernels_last_parameter():
    with pytest.raises(ValueError, match="the last parameter of df_a is 'int64_t n'; allowed is DF_LOCAL"):
        kernel_source.parse("DF_KERNEL df_a(const float *x, int64_t n)")


def test_all_kernels_are_found():
    texts = kernel_source.files()
    declared = sum(len(re.findall(r"^DF_KERNEL", text, re.MULTILINE)) for text in texts.values())
    assert len(kernel_source.kernels()) == declared >= 3
    for file, text in {"": kernel_source.main(), **texts}.items():
        for included in re.findall(r'#include "(.+)"', text):
            beside = posixpath.normpath(f"{file.rpartition('/')[0]}/{included}")
            assert included in texts or beside in texts, (file, included)
