"""For tests: naive twins of dforest's core in plain Python, and `check_splitter`, `check_criterion` and
`engine_check.check_engine`, which tell whether a splitter, a criterion or an engine keeps its contract.
"""

from dforest.testing.conformance import ConformanceError
from dforest.testing.criterion_check import check_criterion
from dforest.testing.splitter_check import check_splitter

__all__ = ["ConformanceError", "check_criterion", "check_splitter"]
