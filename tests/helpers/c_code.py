"""C code of estimators, compiled and called."""

import ctypes
import subprocess

import numpy as np
from sklearn.base import is_classifier

from dforest.interchange.conversion import c as conversion
from dforest.interchange.conversion.links import rounding

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wmissing-prototypes"]
ROW = np.ctypeslib.ndpointer(np.float64, ndim=1, flags="C_CONTIGUOUS")


class Compiled:
    """The code of an estimator as a library: what it predicts for rows that hold codes of labels."""

    def __init__(self, code, folder, prefix="model", compiler=("cc", "-std=c99", "-O0")):
        source, library = folder / f"{prefix}.c", folder / f"{prefix}.so"
        source.write_text(code, encoding="ascii")
        subprocess.run([*compiler, *WARNINGS, "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
        self.library, self.prefix = ctypes.CDLL(str(library)), prefix
        self.n_classes = len(code.split(f"{prefix}_n_classes")) - 1

    def function(self, name, kinds, result):
        found = getattr(self.library, f"{self.prefix}_{name}")
        found.argtypes, found.restype = kinds, result
        return found

    def predict(self, rows, n_outputs=1):
        if n_outputs > 1:
            kind = np.ctypeslib.ndpointer(np.intc if self.n_classes else np.float64, ndim=1, flags="C_CONTIGUOUS")
            of_row, out = self.function("predict", [ROW, kind], None), np.empty((len(rows), n_outputs), kind._dtype_)
            for row, found in zip(rows, out, strict=True):
                of_row(row, found)
            return out
        of_row = self.function("predict", [ROW], ctypes.c_int if self.n_classes else ctypes.c_double)
        return np.array([of_row(row) for row in rows])

    def predict_proba(self, rows, n_classes):
        of_row, out = self.function("predict_proba", [ROW, ROW], None), np.empty((len(rows), n_classes))
        for row, found in zip(rows, out, strict=True):
            of_row(row, found)
        return out


def assert_same(compiled, estimator, X, codes):
    """Whether all predictions are equal to the bit; but for exponentials, which may differ in their last bits."""
    n_outputs = estimator.forest_.objective.n_outputs
    places = found = compiled.predict(codes, n_outputs)
    expected = estimator.predict(X)
    if is_classifier(estimator):
        classes, probability = estimator.classes_, estimator.predict_proba(X)
        if n_outputs == 1:
            classes, probability, places = [classes], [probability], places[:, None]
        labels = [known[own].tolist() for known, own in zip(classes, places.T, strict=True)]
        assert labels == expected.reshape(len(X), n_outputs).T.tolist()
        expected = np.hstack(probability)
        found = compiled.predict_proba(codes, expected.shape[1])
    if conversion.link_of(estimator) in (None, "identity"):
        assert found.tobytes() == expected.tobytes()
    else:
        assert (np.abs(found - expected) <= rounding(expected, np.float64)).all()
