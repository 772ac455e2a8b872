"""What callbacks share: hooks that do nothing, and a record of each fit that is watched at the moment.

A callback may watch several fits at the same time, in threads, or one after another. What it knows of a fit is dropped when the
fit has ended, and does not travel with copies.
"""

from abc import ABC, abstractmethod


class Callback:
    """A callback of scikit-learn's protocol that does nothing.

    Attributes
    ----------
    needs : tuple of str
        What a fit with this callback has to offer: of `dforest.estimators.growth.Growth.offers`, or of a subclass. What takes
        several ranks to be made, all of them make if one has a callback that needs it.
    """

    needs = ()

    def setup(self, estimator, context):
        """A fit begins; see `sklearn.callback.FitCallback`."""

    def on_fit_task_begin(self, estimator, context):
        """The fit or one of its steps begins."""

    def on_fit_task_end(self, estimator, context):
        """The fit or one of its steps has ended; returns whether the fit is to end after this step."""

    def teardown(self, estimator, context):
        """The fit has ended, or failed."""

    def __repr__(self):
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({given})"


class FitRecords(Callback, ABC):
    """A callback that keeps an object for each fit: the one that `open` returns."""

    def __init__(self):
        self._records = {}  # by the identity of the estimator

    @abstractmethod
    def open(self, estimator, context):
        """What is to be kept for a fit that begins."""

    def record(self, estimator):
        """What is kept for the fit of an estimator."""
        return self._records[id(estimator)]

    def setup(self, estimator, context):
        self._records[id(estimator)] = self.open(estimator, context)

    def teardown(self, estimator, context):
        self._records.pop(id(estimator), None)

    def __getstate__(self):
        return vars(self) | {"_records": {}}


def is_step(context):
    """Whether a context is that of a step of a dforest estimator, a tree or an iteration, and not that of a whole fit."""
    return context.task_name in ("tree", "round")
