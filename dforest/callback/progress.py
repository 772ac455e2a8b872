"""Progress bars, by a library that draws them: scikit-learn's own with rich, or tqdm."""

from importlib import import_module
from importlib.util import find_spec
from numbers import Integral

from dforest.callback.base import Callback
from dforest.estimators.data.given import check_number
from dforest.extras import install_command


class ProgressBar(Callback):
    """A callback that shows the progress of a fit as a bar.

    The bar of a dforest estimator is drawn by the package tqdm, which takes a few microseconds for each tree. If the callback is
    set on a search, such as a ``GridSearchCV``, the fits inside of it have bars too, even those in other processes; these are
    drawn by ``sklearn.callback.ProgressBar``, which needs scikit-learn 1.9 or newer and the package rich. If tqdm or rich is
    missing, the other one draws all bars; tqdm can show only fits in the process that called `fit`. With scikit-learn before
    1.9, callbacks are not told of fits inside of other estimators.

    Parameters
    ----------
    max_propagation_depth : int or None, default=1
        Number of levels of nested estimators that have bars of their own, from 0 on. 0 means the outermost estimator alone, and
        None means all levels.

    Raises
    ------
    ImportError
        If tqdm is not installed, and rich, together with a scikit-learn that has callbacks, is not either: the extra
        ``dforest[progress]`` has both.

    Examples
    --------
    >>> from dforest import RandomForestClassifier
    >>> from dforest.callback import ProgressBar
    >>> forest = RandomForestClassifier().set_callbacks(ProgressBar())
    """

    def __init__(self, max_propagation_depth=1):
        depth = max_propagation_depth
        if depth is not None:
            depth = check_number("max_propagation_depth", depth, Integral, "integers from 0, and None", lambda n: n >= 0)
        self.max_propagation_depth = depth
        try:
            self._nested = import_module("sklearn.callback").ProgressBar(depth)
        except ImportError:  # of sklearn.callback, or of rich
            self._nested = None
        self._alone = TqdmBars() if find_spec("tqdm") else self._nested
        self._nested = self._nested or self._alone
        if self._alone is None:
            raise ImportError(f"ProgressBar needs a package that draws bars; install one with: {install_command('progress')}")
        self._roots = set()  # of tasks that tqdm shows

    def _bars(self, context):
        return self._alone if context.root_uuid in self._roots else self._nested

    def setup(self, estimator, context):
        if type(estimator).__module__.startswith("dforest."):
            self._roots.add(context.root_uuid)
        self._bars(context).setup(estimator, context)

    def on_fit_task_begin(self, estimator, context):
        self._bars(context).on_fit_task_begin(estimator, context)

    def on_fit_task_end(self, estimator, context):
        self._bars(context).on_fit_task_end(estimator, context)

    def teardown(self, estimator, context):
        self._bars(context).teardown(estimator, context)
        self._roots.discard(context.root_uuid)


class TqdmBars(Callback):
    """A callback that shows a bar of tqdm for each task that has subtasks; see `ProgressBar`."""

    def __init__(self):
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
