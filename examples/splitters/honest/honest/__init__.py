"""Honest trees, as a splitter for dforest."""

from honest.in_python import PythonHonestSplitter
from honest.splitter import HonestSplitter

__all__ = ["HonestSplitter", "PythonHonestSplitter"]
