"""For tests: of dforest itself, naive twins in pure Python; of splitters and criteria from elsewhere, whether they keep
their contracts: `check_splitter` and `check_criterion`.
"""

from dforest.testing.conformance import ConformanceError
from dforest.testing.criterion_check import check_criterion
from dforest.testing.splitter_check import check_splitter

__all__ = ["ConformanceError", "check_criterion", "check_splitter"]
