"""Tests of parts of your own: whether a splitter, a criterion or an engine keeps the rules of its contract.

`check_splitter`, `check_criterion` and `engine_check.check_engine` are for users; other modules have what dforest's own tests
need, such as naive versions of its core in plain Python.
"""

from dforest.testing.conformance import ConformanceError
from dforest.testing.criterion_check import check_criterion
from dforest.testing.splitter_check import check_splitter

__all__ = ["ConformanceError", "check_criterion", "check_splitter"]
