"""Oblique forests: tests of sparse random combinations of columns, as a splitter for dforest."""

from oblique.in_python import PythonObliqueSplitter
from oblique.splitter import ObliqueSplitter

__all__ = ["ObliqueSplitter", "PythonObliqueSplitter"]
