"""Progress bars, by a library that draws them: scikit-learn's own with rich, or tqdm."""

from importlib import import_module
from importlib.util import find_spec
from numbers import Integral

from dforest.callback.base import Callback
from dforest.extras import install_command


def ProgressBar(max_propagation_depth=1):  # named like the classes of other callbacks
    """Make a callback that shows how far a fit is.

    With scikit-learn 1.9 or newer and the package rich it is a `sklearn.callback.ProgressBar`: set on a search, it shows the fits
    inside too, also if several processes work on them. Else it shows a bar of tqdm for each task that has subtasks. Such bars
    show the fits inside of a search if they are made by the process that called `fit`; with scikit-learn before 1.9, callbacks
    are not told of fits inside of others.

    Parameters
    ----------
    max_propagation_depth : int or None, default=1
        How many levels of nested estimators have bars of their own. 0 means the outermost estimator alone, None all levels.

    Returns
    -------
    sklearn.callback.ProgressBar or TqdmBars

    Raises
    ------
    ImportError
        If neither tqdm is installed, nor rich with a scikit-learn that has callbacks.

    Examples
    --------
    >>> from dforest import RandomForestClassifier
    >>> from dforest.callback import ProgressBar
    >>> forest = RandomForestClassifier().set_callbacks(ProgressBar())
    """
    depth = max_propagation_depth
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, Integral) or depth < 0):
        raise ValueError(f"max_propagation_depth={depth!r}; allowed are integers from 0, and None")
    try:
        return import_module("sklearn.callback").ProgressBar(depth)
    except ImportError as error:  # of sklearn.callback, or of rich
        if find_spec("tqdm") is None:
            raise ImportError(
                f"ProgressBar needs a package that draws bars; install one with: {install_command('progress')}"
            ) from error
        return TqdmBars(depth)


class TqdmBars(Callback):
    """A callback that shows a bar of tqdm for each task that has subtasks; see `ProgressBar`."""

    def __init__(self, max_propagation_depth=1):
        self.max_propagation_depth = max_propagation_depth
        self._bars = {}  # by the task's root and its context

    def on_fit_task_begin(self, estimator, context):
        if context.max_subtasks != 0:
            name = f"{context.estimator_name} - {context.task_name}"
            bar = import_module("tqdm.auto").tqdm(total=context.max_subtasks, desc=name, leave=context.parent is None)
            self._bars[context.root_uuid, id(context)] = bar

    def on_fit_task_end(self, estimator, context):
        bar = self._bars.pop((context.root_uuid, id(context)), None)
        if bar is not None:
            bar.close()
        parent = self._bars.get((context.root_uuid, id(context.parent)))
        if parent is not None:
            parent.update()

    def teardown(self, estimator, context):
        for key in [key for key in self._bars if key[0] == context.root_uuid]:
            self._bars.pop(key).close()

    def __getstate__(self):
        return vars(self) | {"_bars": {}}
