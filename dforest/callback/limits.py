"""Limits of a fit: it ends when one is reached, with the trees that there are."""

from math import inf
from numbers import Real
from time import monotonic

from dforest.callback.base import FitRecords, is_step
from dforest.errors import LimitError


class TimeLimit(FitRecords):
    """A callback that ends a fit when its time is up.

    The time of a fit begins when its data have been checked. The callback looks at the clock whenever a tree, or a round of
    boosted trees, is finished, so that a fit takes as much longer as the tree takes that is being grown when the time is up. How
    many trees there are then depends on the machine; which trees these are does not.

    Parameters
    ----------
    seconds : float
        How long a fit may take; a positive number.

    Raises
    ------
    LimitError
        By `fit`, if the time is up before the first tree is begun; the estimator is then as it was. If there are trees of an
        earlier fit with ``warm_start=True``, the forest keeps these and this one ends without an error after one more tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> from dforest.callback import TimeLimit
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10**6, random_state=0).set_callbacks(TimeLimit(0.1)).fit(X, y)
    >>> 0 < forest.n_estimators_ < 10**6
    True
    """

    def __init__(self, seconds):
        super().__init__()
        if isinstance(seconds, bool) or not isinstance(seconds, Real) or not 0 < seconds < inf:
            raise ValueError(f"seconds={seconds!r}; allowed are positive finite numbers")
        self.seconds = seconds

    def open(self, estimator, context):
        return monotonic() + self.seconds

    def on_fit_task_begin(self, estimator, context):
        if is_step(context) and context.task_id == 0 and monotonic() >= self.record(estimator):
            raise LimitError(
                f"TimeLimit(seconds={self.seconds}) was reached before the first tree was begun, so that there is nothing to "
                "keep; a longer time is needed"
            )

    def on_fit_task_end(self, estimator, context):
        return is_step(context) and monotonic() >= self.record(estimator)
