"""Tests of parts of your own: whether a splitter, a criterion or an engine keeps the rules of its contract.

`check_splitter`, `check_criterion` and `engine_check.check_engine` are what users call. The other modules are what these need:
codes, scores and random streams in plain Python, which splitters and criteria written in Python may use too.
"""

from dforest.testing.conformance import ConformanceError
from dforest.testing.criterion_check import check_criterion
from dforest.testing.splitter_check import check_splitter

__all__ = ["ConformanceError", "check_criterion", "check_splitter"]
