"""scikit-learn's defaults for boosted trees, where tests are about what scikit-learn's own would do."""

from contextlib import ExitStack, contextmanager
from inspect import unwrap
from unittest.mock import patch

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor


@contextmanager
def scikit_defaults():
    """Boosted trees that are made meanwhile, and are told nothing else, have ``defaults="scikit-learn"``."""
    with ExitStack() as stack:
        for kind in (HistGradientBoostingClassifier, HistGradientBoostingRegressor, HistGradientBoostingRanker):
            given = unwrap(kind.__init__).__kwdefaults__
            stack.enter_context(patch.dict(given, defaults="scikit-learn"))
        yield
