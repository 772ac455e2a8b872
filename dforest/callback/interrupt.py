"""Ctrl-C that keeps what has been grown."""

import signal
import threading

from dforest.callback.base import FitRecords, is_step
from dforest.core.threads import interrupt
from dforest.engines.fitting import GrowthInterrupted


class KeepOnInterrupt(FitRecords):
    """A callback that lets Ctrl-C end a fit and keep its trees; a second Ctrl-C raises KeyboardInterrupt.

    A forest stops within a second and keeps the trees that are finished; one that several ranks fit stops after the next tree, on
    all ranks, and boosted trees stop at the end of the iteration that is being grown. `n_estimators_` or `n_iter_` says how many
    trees or iterations there are. As long as there is no tree, or when all trees are finished and something else is being
    computed, Ctrl-C raises KeyboardInterrupt, as it does without this callback.

    The fit must be called in the main thread, because Python handles signals there.

    Raises
    ------
    ValueError
        By `fit`, if it is called in another thread than the main thread.

    Examples
    --------
    >>> from dforest import RandomForestClassifier
    >>> from dforest.callback import KeepOnInterrupt
    >>> forest = RandomForestClassifier(100_000).set_callbacks(KeepOnInterrupt())
    """

    def open(self, estimator, context):
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("KeepOnInterrupt needs fit to be called by the main thread, as Python handles signals only there")
        return _Handler(getattr(estimator, "_growth", None))

    def on_fit_task_end(self, estimator, context):
        return is_step(context) and self.record(estimator).was_asked

    def teardown(self, estimator, context):
        if id(estimator) in self._records:
            self.record(estimator).close()
        super().teardown(estimator, context)


class _Handler:
    """The handler of Ctrl-C during a fit; it owns the place of the one before until `close`."""

    def __init__(self, growth):
        self._growth = growth
        self.was_asked = False
        self._before = signal.signal(signal.SIGINT, self)

    def __call__(self, number, frame):
        if self.was_asked or not (self._growth is None or self._growth.can_stop):
            interrupt(None)
            self._raise(number, frame)
            return
        self.was_asked = True
        if self._growth is not None and self._growth.ends_at_once:
            interrupt(GrowthInterrupted())

    def _raise(self, number, frame):
        """Do what would have been done without this handler."""
        if callable(self._before):
            self._before(number, frame)
        elif self._before != signal.SIG_IGN:
            raise KeyboardInterrupt

    def close(self):
        signal.signal(signal.SIGINT, signal.default_int_handler if self._before is None else self._before)
