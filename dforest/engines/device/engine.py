"""A device as an engine: it grows the trees that `dforest.engines.cpu` grows, to the bit."""

from dataclasses import replace

from dforest.core.draws import TreeDraws
from dforest.core.search.criteria import OF_KERNELS, name_of
from dforest.core.search.heterogeneity import Heterogeneity
from dforest.engines.base import BoostingSession, Engine, GrownTree, Session, leaves_of_rows
from dforest.engines.boosting_driver import Iterations, RowWeights
from dforest.engines.device import backend, coding
from dforest.engines.device.boosting import BoostingShard
from dforest.engines.device.recorder import Recorder
from dforest.engines.device.sampling import RowCounts
from dforest.engines.device.shard import ForestShard
from dforest.engines.device.training import Training, Tuning, median_memory, subtree_up_to, trees_of_batch
from dforest.engines.forest_driver import ForestDriver
from dforest.engines.layout import Layout
from dforest.engines.memory import boosting_memory_by_level, distinct_rows, forest_memory_by_level
from dforest.engines.problem import BoostingProblem


class DeviceEngine(Engine):
    """Grows trees on a device.

    Parameters
    ----------
    device : dforest.engines.device.backend.Device
    n_threads : int, default=1
        Threads of the processor, which allocate the trees' draws to blocks of rows.
    """

    needs_keys = True

    def __init__(self, device, n_threads=1):
        self.device = device
        self.n_threads = n_threads
        self.name = device.name
        self._recorder = None  # of what was done for the next session

    def code_columns(self, X, max_codes, weight, kinds, counts_missing):
        tuning = Tuning(self.device, backend.TUNING)
        if self.device.is_cpu or not coding.is_coded_there(X, max_codes, weight, kinds, counts_missing):
            return None
        if coding.columns_at_once(*X.shape, X.itemsize, tuning) == 0:
            return None
        self._recorder = recorder = Recorder(self.device)
        with recorder.timed("build"):
            recorder.build("coding.hpp")
        with recorder.timed("upload"):
            return coding.code_columns(recorder, tuning, X, max_codes, kinds, counts_missing)

    def open(self, problem):
        recorder, self._recorder = self._recorder or Recorder(self.device), None
        if isinstance(problem, BoostingProblem):
            return BoostingSession(problem, Iterations(problem, boosting_shard(problem, recorder)), recorder)
        what = f"a forest on the device {self.name!r}"
        criterion = name_of(problem.criterion) or problem.criterion
        if criterion not in OF_KERNELS:
            raise ValueError(f"criterion={criterion!r} is not supported for {what}; allowed are {', '.join(OF_KERNELS)}")
        return DeviceSession(problem, recorder, self.n_threads)

    def estimate_memory(self, problem, n_trees, n_leaves, n_distinct=None, scores=0):
        found = self._estimate_growth(problem, n_trees, n_leaves, n_distinct, scores)
        columns, tuning = problem.columns, Tuning(self.device, backend.TUNING)
        n_rows, n_features, itemsize = len(columns[0].codes), len(columns), columns[0].values.dtype.itemsize
        if self.device.is_cpu or coding.columns_at_once(n_rows, n_features, itemsize, tuning) == 0:
            return found
        if any(column.kind == coding.CATEGORICAL or column.has_keys or column.codes.itemsize > 1 for column in columns):
            return found
        # Unless bins weigh rows, which a problem does not tell, columns are coded there, before trees take memory.
        return replace(found, on_device=max(found.on_device, coding.bytes_there(n_rows, n_features, itemsize, tuning)))

    def _estimate_growth(self, problem, n_trees, n_leaves, n_distinct, scores):
        """The `MemoryEstimate` of what follows when columns have codes."""
        device = self.device
        tuning, n_threads = Tuning(device, backend.TUNING), self.n_threads
        if isinstance(problem, BoostingProblem):
            sizes = tuning.ahead, tuning.histogram_bytes
            return boosting_memory_by_level(
                problem, n_trees, n_leaves, n_threads, device.is_cpu, *sizes, scores, kept_bytes=tuning.histogram_bytes
            )
        n_records, layout = problem.sampling.max_records(problem.n_rows), Layout(problem)
        n_together = trees_of_batch(device, tuning, problem.n_rows, n_records, layout)
        large, n_distinct_rows = subtree_up_to(problem, tuning), distinct_rows(problem.sampling, problem.n_rows)
        medians = median_memory(layout, tuning, large, min(n_trees, n_together), n_distinct_rows, problem.splitter.max_features)
        sizes = n_together, large, tuning.histogram_bytes
        return forest_memory_by_level(problem, n_trees, n_leaves, n_distinct, n_threads, device.is_cpu, *sizes, medians=medians)


class DeviceSession(Session):
    """A device, as its `Recorder`, at work on a problem; see `Session`. What it knows of the problem stays from call to call."""

    def __init__(self, problem, recorder, n_threads):
        super().__init__(problem, recorder)
        self._n_threads = n_threads
        with recorder.timed("build"):
            has_effects = isinstance(problem.criterion, Heterogeneity)
            recorder.build("train.hpp", *(["effects.hpp"] if has_effects else []))
        with recorder.timed("upload"):
            self._training = Training(recorder, problem, Tuning(recorder, backend.TUNING), n_threads)

    def close(self):
        self._training = None

    def _take_targets(self):
        with self._recorder.timed("upload"):
            self._training.set_targets(self.problem.targets)

    def _grow(self, trees, sink, keep_leaves):
        seeds, n_rows = self.problem.seeds_of(trees), self.problem.n_rows
        for some, shard in self._shards(seeds):
            driver = ForestDriver(self.problem, shard)
            for t, (arrays, unit) in enumerate(zip(driver.grow(keep_leaves), shard.weight_units, strict=True)):
                number = trees[some][t]
                if number == trees.start:
                    self._check_first(arrays)
                if keep_leaves:
                    self._leaves[number] = leaves_of_rows(n_rows, *driver.record_table(t), arrays.feature)
                if not sink.put(GrownTree(number, arrays, unit)):
                    return

    def _shards(self, seeds):
        """Yield which of the trees of these seeds are grown together, a slice, and the `ForestShard` of their draws."""
        problem, training = self.problem, self._training
        for some in training.batches(len(seeds), problem.sampling.max_records(problem.n_rows)):
            own, weights = seeds[some], None
            if problem.targets.balance is None:
                draws = TreeDraws((problem.sampling,) * len(own), own, problem.n_rows, self._n_threads)
                counts = RowCounts.drawn(training.device, draws)
            else:
                drawn, weights = problem.weigh_draws(own)
                counts = RowCounts.known(training.device, drawn)
            yield some, ForestShard(training, own, counts, weights)

    def _check_first(self, tree):
        """Raise if trees like the first one of a call are not to be grown."""


def boosting_shard(problem, recorder, ranks=None):
    """The `BoostingShard` of the rows of a `BoostingProblem` on a device, given as its `Recorder`.

    It is a collective of `ranks`, if these have some rows each.
    """
    with recorder.timed("build"):
        recorder.build("boost_cuts.hpp", "boost.hpp")  # the kernel that takes longest first
    with recorder.timed("upload"):
        return BoostingShard(recorder, Tuning(recorder, backend.TUNING), problem, RowWeights.of(problem, ranks))
