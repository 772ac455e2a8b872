"""What an engine is: it takes a problem and gives trees, in the order of their numbers.

A session owns scratch and the device's memory, and keeps them from one call to the next. A sink sees tree 0 first, then tree 1,
and so on, although a later tree may be finished earlier; its answer decides whether growing goes on. So a fit that a sink stops
gives the trees 0 to n - 1 for some n that depends on what the trees are, and not on which thread was faster.

The arrays of a `GrownTree` belong to who grew it, and are lent until `Sink.put` returns.
"""

from abc import ABC, abstractmethod
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np

TREES_AT_ONCE = 2**16  # that an engine is asked for: their seeds are known before the first of them is grown


class GrownTree(NamedTuple):
    """A finished tree.

    Attributes
    ----------
    number : int
        Among all trees of the forest.
    arrays : dforest.core.forest.assembly.TreeArrays
    weight_unit : float
        The weights of the tree's draws are its integer weights times this.
    """

    number: int
    arrays: tuple
    weight_unit: float


class Sink(Protocol):
    """Where trees go.

    A sink may have another method, ``prepare(tree)``, for what can be done with a tree whatever its turn. It is called with each
    finished tree, lent until it returns, by the thread that finished it: in any order, by several threads at the same time,
    perhaps with trees that are never put. It returns what takes the tree's place in `put`, with nothing of it that was lent.
    """

    def put(self, tree):
        """Take a tree.

        Parameters
        ----------
        tree : GrownTree
            The next one; lent until this returns. Calls come one at a time, from any thread.

        Returns
        -------
        bool
            Whether growing is to go on. Once this is False, there are no more calls.
        """


class InOrder:
    """Puts trees into a sink in the order of their numbers, whichever is finished first.

    A tree that is early waits: as a copy, or as what the sink's `prepare` made of it, if there is such a method. The thread that
    brings the tree whose turn it is puts that one, and all that waited for it, into the sink.

    Parameters
    ----------
    sink : Sink
    trees : range
        The numbers of the trees.
    step : TreeStep, optional
        What is done with trees first, as many of them as the step wants together, whatever their turn: see
        `dforest.engines.tree_steps`.

    Attributes
    ----------
    is_open : bool
        Whether the sink wants more trees.
    n_put : int
        Trees that the sink has taken.
    """

    def __init__(self, sink, trees, step=None):
        self._sink, self._trees, self._step = sink, trees, step
        self._prepare = getattr(sink, "prepare", None)
        self._next = trees.start
        self._together = {}  # trees that the step has not seen, as it wants others with them: lists by number of the group
        self._waiting = {}  # trees by number
        self._is_busy = False  # a thread is at the sink
        self._lock = Lock()
        self.is_open = True
        self.n_put = 0

    def put(self, tree):
        """Bring a finished tree, from any thread.

        Parameters
        ----------
        tree : GrownTree
            Lent until this returns.

        Returns
        -------
        bool
            Whether growing is to go on, as far as the sink has said.
        """
        for own in [tree] if self._step is None else self._stepped(tree):
            self._put(own)
        return self.is_open

    def _stepped(self, tree):
        """What the step makes of the trees that it wants together, if this is the last of them to come; else none."""
        n = self._step.n_together
        if not self.is_open:
            return []
        if n == 1:
            return self._step.apply([tree])
        group = tree.number // n
        wanted = range(max(self._trees.start, group * n), min(self._trees.stop, (group + 1) * n))
        tree = tree._replace(arrays=tree.arrays.copy())
        with self._lock:
            there = self._together.setdefault(group, [])
            there.append(tree)
            if len(there) < len(wanted):
                return []
            del self._together[group]
        return self._step.apply(sorted(there, key=lambda tree: tree.number))

    def _put(self, tree):
        if self._prepare is not None:
            tree = self._prepare(tree)
        if not self._take_turn(tree.number):
            self._waiting[tree.number] = tree if self._prepare is not None else tree._replace(arrays=tree.arrays.copy())
            # It is this tree's turn now, or the thread at the sink will find it.
            if not self._take_turn(tree.number):
                return
            tree = self._waiting.pop(tree.number)
        while tree is not None:
            if self.is_open:
                self.is_open = bool(self._sink.put(tree))
                self.n_put += 1
            with self._lock:
                self._next += 1
                tree = self._waiting.pop(self._next, None)
                self._is_busy = tree is not None

    def _take_turn(self, number):
        with self._lock:
            if self._is_busy or number != self._next:
                return False
            self._is_busy = True
            return True


class Session(ABC):
    """An engine at work on a problem; a context manager that gives back what it holds.

    Parameters
    ----------
    problem : Problem or BoostingProblem
    recorder : Stopwatch
        What keeps how long growing takes, and reports it.

    Attributes
    ----------
    n_together : int
        Trees are asked for in multiples of this number.
    knows_rows : bool
        Whether trees may get other targets between calls, and the leaves of rows are told.
    """

    n_together, knows_rows = 1, True

    def __init__(self, problem, recorder):
        self.problem, self._recorder = problem, recorder
        self._leaves = {}  # of training rows, by tree: see `leaves`
        self._n_trees = 0  # that sinks have taken

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @abstractmethod
    def close(self):
        """Give back scratch and device memory; the session ends."""

    def grow(self, trees, sink, targets=None, keep_leaves=False):
        """Grow some trees.

        Parameters
        ----------
        trees : range
            Their numbers among all trees of the forest.
        sink : Sink
            Where they go, in this order.
        targets : Targets, optional
            What the trees of this call and of later calls are to predict, in place of the problem's targets: as many, also
            classes or also numbers, and weighed if the problem's are.
        keep_leaves : bool, default=False
            Whether to remember which leaf each training row reached, for `leaves`.

        Raises
        ------
        ValueError
            If the targets do not fit the problem, or the engine does not support it.
        """
        if not self.knows_rows and (targets is not None or keep_leaves):
            raise ValueError("boosted trees and trees of several ranks keep their targets, and tell no leaves of rows")
        if targets is not None:
            self.problem = self.problem.with_targets(targets)
            self._take_targets()
        self._leaves = {}
        self._n_wanted = trees.stop
        ordered = InOrder(sink, trees, self.problem.after_tree)
        at_once = max(1, TREES_AT_ONCE // self.n_together) * self.n_together
        with self._recorder.timed("train"):
            for first in range(trees.start, trees.stop, at_once):
                if ordered.is_open:
                    self._grow(range(first, min(first + at_once, trees.stop)), ordered, keep_leaves)
        self._n_trees += ordered.n_put

    @abstractmethod
    def _grow(self, trees, sink, keep_leaves):
        """Grow one or more trees; put them into an `InOrder` sink, until that is no longer open."""

    def _take_targets(self):
        """Get ready for the problem's targets, which are other ones than before, where a session `knows_rows`."""
        raise NotImplementedError

    def leaves(self, tree):
        """Which leaf each training row reached while a tree was grown: no row walks down the tree for that.

        Parameters
        ----------
        tree : int
            The number of a tree of the last call of `grow`, which was to keep its leaves.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Numbers of nodes, counted in preorder from the root, 0. -1 for a row that the tree did not draw.

        Raises
        ------
        ValueError
            If the leaves of this tree were not kept.
        """
        if tree not in self._leaves:
            kept = f"trees {sorted(self._leaves)}" if self._leaves else "no tree; grow(..., keep_leaves=True) does"
            raise ValueError(f"tree={tree}, but the last call of grow kept the leaves of {kept}")
        return self._leaves[tree]

    def report(self):
        """What growing took so far: a `dforest.engines.fit_report.FitReport`."""
        return self._recorder.report(self._n_trees)


class BoostingSession(Session):
    """An engine at work on a `BoostingProblem`; see `Session`. A call of `grow` is for the trees of whole iterations.

    Parameters
    ----------
    problem : BoostingProblem
    grower : Booster or Iterations
        What has the method `grow_iteration`, which returns the `TreeArrays` of an iteration in a list, and the attribute
        `raw_sums`: `dforest.core.boost.booster` on the processor, `dforest.engines.boosting_driver` on devices and ranks.
    recorder : Stopwatch
    """

    knows_rows = False

    def __init__(self, problem, grower, recorder):
        super().__init__(problem, recorder)
        self.n_together = problem.n_trees_per_iteration
        self._grower = grower

    def close(self):
        self._grower = None

    @property
    def raw_sums(self):
        """What offsets and leaf values of the rows here add up to: ndarray of shape (n_sums, n_rows), dtype float64; lent."""
        return self._grower.raw_sums

    def _grow(self, trees, sink, keep_leaves):
        for first in range(trees.start, trees.stop, self.n_together):
            for number, arrays in enumerate(self._grower.grow_iteration(), first):
                if not sink.put(GrownTree(number, arrays, 1.0)):
                    return


class Engine(ABC):
    """Where trees are grown.

    Attributes
    ----------
    name : str
        "cpu", or what the device is called.
    needs_keys : bool
        Whether random splits by ``method="dense"`` have code for columns of keys alone.
    takes_sparse : bool
        Whether columns may be sparse, if the splitter takes such.
    takes_drawn : bool
        Whether a problem may have the rows alone that trees draw: see `dforest.engines.problem.DrawnRows`.
    """

    name: str
    needs_keys = False
    takes_sparse = False
    takes_drawn = False

    def code_columns(self, X, max_codes, weight, kinds, counts_missing):
        """The columns of a matrix, coded where the engine works; None: they are to be coded on the processor.

        Parameters
        ----------
        X, max_codes, weight, kinds, counts_missing
            As of `dforest.core.coding.columns.code_columns`.

        Returns
        -------
        list of CodedColumn, or None
            For the next problem that the engine opens a session for.
        """
        return None

    @abstractmethod
    def open(self, problem):
        """A `Session` for a problem, or, for a `BoostingProblem`, a `BoostingSession`.

        Parameters
        ----------
        problem : Problem or BoostingProblem

        Raises
        ------
        ValueError
            If the engine does not support what the problem asks for.
        DeviceError
            If a device cannot be used.
        """

    @abstractmethod
    def estimate_memory(self, problem, n_trees, n_leaves, n_distinct=None, scores=0):
        """Estimate the memory that growing trees takes in this process, before they are grown.

        Parameters
        ----------
        problem : Problem or BoostingProblem
        n_trees : int
        n_leaves : int
            Leaves of a tree.
        n_distinct : int, optional
            How many different leaves a forest has: see `dforest.engines.memory.forest_memory`.
        scores : int, default=0
            Bytes that scoring iterations of boosted trees takes meanwhile.

        Returns
        -------
        MemoryEstimate
        """


def leaves_of_rows(n_rows, rows, is_first, feature):
    """The leaf of each row, given a tree's records in the order in which growing left them: leaf by leaf, leaves in preorder.

    Parameters
    ----------
    n_rows : int
    rows : ndarray of shape (n_records,)
        The row of each record.
    is_first : ndarray of shape (n_records,), dtype bool
        Which records are the first of their leaf.
    feature : ndarray of shape (n_nodes,)
        Of the tree, in preorder; -1: a leaf.

    Returns
    -------
    ndarray of shape (n_rows,), dtype int64
        As of `Session.leaves`.

    Examples
    --------
    A root with two leaves, nodes 1 and 2. Rows 3 and 0 went left, row 2 went right, and row 1 was not drawn:

    >>> import numpy as np
    >>> leaves_of_rows(4, np.array([3, 0, 2]), np.array([True, False, True]), np.array([5, -1, -1]))
    array([ 1, -1,  2,  1])
    """
    found = np.full(n_rows, -1, np.int64)
    found[rows] = np.flatnonzero(feature < 0)[np.cumsum(is_first) - 1]
    return found
