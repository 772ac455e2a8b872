"""scikit-learn's callback protocol for scikit-learn before 1.9, where `sklearn.callback` is not there yet.

Here is what dforest's estimators need of it: callbacks are set on an estimator, find contexts of the tasks that they are told of,
and are copied with the estimator. They reach no estimators inside of other ones, such as the fits of a `GridSearchCV`.
"""

import inspect
from contextlib import contextmanager
from copy import copy
from uuid import uuid4

_HOOKS = ("setup", "on_fit_task_begin", "on_fit_task_end", "teardown")


class CallbackContext:
    """What a callback is told of a task: see `sklearn.callback.CallbackContext`."""

    source_estimator_name = source_task_name = None

    def __init__(self, callbacks, estimator_name, task_name, task_id, max_subtasks, parent=None):
        self._callbacks = callbacks
        self.estimator_name, self.task_name, self.task_id = estimator_name, task_name, task_id
        self.max_subtasks, self.parent = max_subtasks, parent
        self.root_uuid = uuid4() if parent is None else parent.root_uuid
        self._n_subtasks = 0

    def subcontext(self, task_name="", max_subtasks=0):
        """The context of the next subtask."""
        self._n_subtasks += 1
        return CallbackContext(self._callbacks, self.estimator_name, task_name, self._n_subtasks - 1, max_subtasks, self)

    def call_on_fit_task_begin(self, **given):
        """Call this hook of all callbacks with what they ask for; returns the context."""
        self._call("on_fit_task_begin", **given)
        return self

    def call_on_fit_task_end(self, **given):
        """Call this hook of all callbacks with what they ask for; returns whether one of them asks to stop."""
        return self._call("on_fit_task_end", **given)

    def _call(self, name, *, estimator, reconstruction_attributes, **given):
        def fitted_estimator():
            attributes = reconstruction_attributes()
            if attributes is None:
                return None
            fitted = copy(estimator)
            vars(fitted).update(attributes)
            return fitted

        given["fitted_estimator"] = fitted_estimator
        stops = False
        for callback in self._callbacks:
            hook = getattr(callback, name)
            asked = [p.name for p in inspect.signature(hook).parameters.values() if p.kind == p.KEYWORD_ONLY]
            unknown = sorted(set(asked) - set(given))
            if unknown:
                raise TypeError(f"{type(callback).__name__}.{name} asks for {unknown}; allowed are {sorted(given)}")
            for what in asked:
                given[what] = given[what]() if callable(given[what]) else given[what]
            stops |= bool(hook(estimator, self, **{what: given[what] for what in asked}))
        return stops


class CallbackSupportMixin:
    """What lets callbacks be set on an estimator."""

    def set_callbacks(self, *callbacks):
        """Set the callbacks that are told of the progress of `fit`.

        Parameters
        ----------
        *callbacks : objects with the methods of ``sklearn.callback.FitCallback``
            The callbacks, which replace those set before. A call without any removes them.

        Returns
        -------
        self
            This estimator.
        """
        if any(isinstance(one, type) or not all(callable(getattr(one, hook, None)) for hook in _HOOKS) for one in callbacks):
            methods = ", ".join(_HOOKS)
            raise TypeError(f"callbacks must be instances following the FitCallback protocol, with the methods {methods}")
        if callbacks:
            self._skl_callbacks = list(callbacks)
        else:
            self.__dict__.pop("_skl_callbacks", None)
        return self

    def _init_callback_context(self, max_subtasks=0):
        callbacks = getattr(self, "_skl_callbacks", [])
        self._callback_fit_ctx = CallbackContext(callbacks, type(self).__name__, "fit", 0, max_subtasks)
        self._skl_callbacks_to_teardown = []
        for callback in callbacks:
            self._skl_callbacks_to_teardown.append(callback)
            callback.setup(self, self._callback_fit_ctx)
        return self._callback_fit_ctx

    def __sklearn_clone__(self):
        copied = super().__sklearn_clone__()
        return copied.set_callbacks(*getattr(self, "_skl_callbacks", ()))


@contextmanager
def callback_management_context(estimator):
    """Tell callbacks that are set up in the block of its end, also if it fails."""
    try:
        yield
    finally:
        if hasattr(estimator, "_callback_fit_ctx"):
            errors = []
            for callback in estimator._skl_callbacks_to_teardown:
                try:
                    callback.teardown(estimator, estimator._callback_fit_ctx)
                except Exception as error:
                    errors.append(error)
            del estimator._skl_callbacks_to_teardown, estimator._callback_fit_ctx
            if errors:
                raise errors[0] if len(errors) == 1 else ExceptionGroup("callbacks failed in teardown", errors)
