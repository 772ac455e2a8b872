"""Callbacks in fits: those of scikit-learn's protocol, `sklearn.callback`, which is there from scikit-learn 1.9 on.

To a callback, a fit is a *task*, and so is each step of a fit, such as an iteration of boosted trees. *Hooks* are the methods of
a callback that are called when tasks begin and end. The hook at the end of a step may ask to *stop*.

One law holds for all estimators: steps are told of one after another, in their order, and a fit that is stopped after k steps
leaves what a fit of k steps leaves, to the bit. A callback that raises an exception ends the fit with it, and the estimator is as
it was; so does one that changes a parameter, which would have no effect. Boosted trees call hooks in the thread that called
`fit`, forests in the one that finished the tree, with the configuration (scikit-learn's and dforest's) of the thread that called
`fit`.

Each of several ranks has callbacks of its own, or none. If one of them asks to stop, the fit ends on all ranks after the same
step.

With an older scikit-learn the same objects are callbacks, by `dforest.estimators.callback_protocol`.
"""

import inspect
from contextvars import copy_context
from threading import get_ident

import sklearn

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context
except ImportError:  # before scikit-learn 1.9
    from dforest.estimators.callback_protocol import CallbackSupportMixin, callback_management_context

from dforest.estimators.data.agreement import NAMES_OF_RANKING
from dforest.estimators.kinds import RankingTrees
from dforest.estimators.subclasses import every_parameter

__all__ = ["CallbackSupportMixin", "FitTasks", "callback_management_context"]


class FitTasks:
    """What the callbacks of an estimator are told of a fit.

    Parameters
    ----------
    estimator : CallbackSupportMixin
        Around whose fit there is a `callback_management_context`.
    name : str
        What a step is called.
    partition : Partition
        What `fit` was given: callbacks are given it too.
    ranks : Communicator
        Who fits together.

    Attributes
    ----------
    are_told : bool
        Whether this rank has callbacks. If not, telling of tasks does nothing here.
    are_watched, ask_for_fitted : bool
        Whether any rank has callbacks, and whether a hook asks for the estimator that is fitted so far; known from `agree` on. If
        no rank has callbacks, nobody need tell of steps.
    callbacks : list
    data : tuple
        What `fit` was given, the first partition of it; None stands for nothing.
    """

    def __init__(self, estimator, name, partition, ranks):
        self._estimator, self._name, self._ranks, self._needs = estimator, name, ranks, []
        self.data = partition[1:]
        names = NAMES_OF_RANKING if isinstance(estimator, RankingTrees) else {}
        given = {names.get(name, name): array for name, array in partition._asdict().items() if array is not None}
        metadata = {name: array for name, array in given.items() if name not in ("place", "X", "y")}
        self._given = {"X": partition.X, "y": partition.y, "metadata": metadata}
        self._fit = self._step = self._fitted = None
        self.callbacks = list(getattr(estimator, "_skl_callbacks", ()))
        self.are_told = bool(self.callbacks)
        self._caller = get_ident(), sklearn.get_config(), copy_context()
        self._parameters = every_parameter(estimator) if self.are_told else {}

    def agree(self, thing=None):
        """Learn what callbacks the ranks have; returns what rank 0 hands in, as both take one round. A collective."""
        hooks = (getattr(callback, f"on_fit_task_{when}") for callback in self.callbacks for when in ("begin", "end"))
        asks = any("fitted_estimator" in inspect.signature(hook).parameters for hook in hooks)
        needs = {need for callback in self.callbacks for need in getattr(callback, "needs", ())}
        own = self.are_told, asks, needs, thing if self._ranks.rank == 0 else None
        are_told, ask, self._needs, things = zip(*self._ranks.gather_objects(own), strict=True)
        self.are_watched, self.ask_for_fitted = any(are_told), any(ask)
        return things[0]

    def first_with(self, need):
        """The first rank that has a callback which needs something (`needs` of `dforest.callback.base.Callback`), or None."""
        return next((rank for rank, needs in enumerate(self._needs) if need in needs), None)

    def set_up(self, n_steps, fitted):
        """Set the callbacks up.

        Parameters
        ----------
        n_steps : int
            How many steps there are at most.
        fitted : callable
            Given a state, it returns the attributes of an estimator that is fitted so far, or None if there is none yet.
        """
        if self.are_told:
            self._fitted = fitted
            self._fit = self._estimator._init_callback_context(max_subtasks=n_steps)

    def begin(self, state):
        """Tell that the fit begins.

        Parameters
        ----------
        state
            What callbacks find now. Here and elsewhere it may be a function that returns the state, called if a callback asks.
        """
        if self.are_told:
            self._call(self._fit.call_on_fit_task_begin, state)

    def begin_step(self, state):
        """Tell that the next step begins."""
        if self.are_told:
            self._step = self._fit.subcontext(task_name=self._name)
            self._call(self._step.call_on_fit_task_begin, state)

    def end_step(self, state):
        """Tell that the step has ended; returns whether a callback asks to stop, on any rank. A collective."""
        return self._ranks.any(self.are_told and self._call(self._step.call_on_fit_task_end, state))

    def end(self, state):
        """Tell that the fit has ended."""
        if self.are_told:
            self._call(self._fit.call_on_fit_task_end, state)

    def _call(self, hook, state):
        def attributes():
            return self._fitted(state() if callable(state) else state)

        def call():
            answer = hook(estimator=self._estimator, reconstruction_attributes=attributes, **self._given)
            for name, value in self._parameters.items():
                now = getattr(self._estimator, name)
                if now is not value:
                    raise ValueError(
                        f"a callback has set {name}={now!r} during the fit; allowed are changes between fits, as parameters are "
                        "read when a fit begins: warm_start=True goes on with others"
                    )
            return answer

        thread, config, context = self._caller
        if get_ident() == thread:
            return call()
        with sklearn.config_context(**config):
            return context.run(call)
