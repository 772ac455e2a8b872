"""A device as an engine: it grows the trees that `dforest.engines.cpu` grows, to the bit."""


from dforest.core.draws import TreeDraws
from dforest.core.search.criteria import NAMES, OF_KERNELS
from dforest.engines.base import Engine, GrownTree, Session, leaves_of_rows
from dforest.engines.best_first import BestFirst
from dforest.engines.device import backend
from dforest.engines.device.recorder import Recorder
from dforest.engines.device.sampling import RowCounts
from dforest.engines.device.shard import DeviceShard
from dforest.engines.device.training import Training, Tuning
from dforest.engines.levels import Levels


class DeviceEngine(Engine):
    """Grows trees on a device.

    Parameters
    ----------
    device : dforest.engines.device.backend.Device
    n_threads : int, default=1
        Threads of the processor, which deal the trees' draws out to blocks of rows.
    """

    needs_keys = True

    def __init__(self, device, n_threads=1):
        self.device = device
        self.n_threads = n_threads
        self.name = device.name

    def open(self, problem):
        what = f"a forest on the device {self.name!r}"
        criterion = NAMES.get(type(problem.criterion), problem.criterion)
        if criterion not in OF_KERNELS:
            raise ValueError(f"criterion={criterion!r} is not supported for {what}; allowed are {', '.join(OF_KERNELS)}")
        return DeviceSession(problem, self.device, self.n_threads)


class DeviceSession(Session):
    """A device at work on a problem; see `Session`. What the device knows of the problem stays there from call to call."""

    def __init__(self, problem, device, n_threads):
        super().__init__(problem)
        tuning = Tuning(device, backend.TUNING)
        self._n_threads = n_threads
        self._recorder = Recorder(device)
        with self._recorder.timed("build"):
            device.build()
        with self._recorder.timed("upload"):
            self._training = Training(self._recorder, problem, tuning)
        self._sizes = tuning.subtree_up_to, tuning.histogram_bytes, tuning.extra_features

    def close(self):
        self._training = None

    def _take_targets(self):
        with self._recorder.timed("upload"):
            self._training.set_targets(self.problem.targets)

    def _grow(self, trees, sink, keep_leaves):
        problem, training = self.problem, self._training
        seeds = problem.seeds_of(trees)
        driver = BestFirst if problem.rules.max_leaf_nodes else Levels
        with self._recorder.timed("train"):
            for some in training.batches(len(trees), problem.sampling.max_records(problem.n_rows)):
                n_trees, weights = len(trees[some]), None
                if problem.targets.balance is None:
                    units = [problem.targets.weight_unit] * n_trees
                    plans = (problem.sampling,) * n_trees
                    draws = TreeDraws(plans, seeds[some], problem.n_rows, self._n_threads)
                    counts = RowCounts.drawn(training.device, draws)
                else:
                    drawn, weights = problem.weigh_draws(seeds[some])
                    units = [of_tree.unit for of_tree in weights]
                    counts = RowCounts.known(training.device, drawn)
                shard = DeviceShard(training, seeds[some], counts, weights)
                batch = driver(problem, training.layout, shard, *self._sizes)
                for t, (arrays, unit) in enumerate(zip(batch.grow(), units, strict=True)):
                    number = trees[some][t]
                    if keep_leaves:
                        self._leaves[number] = leaves_of_rows(problem.n_rows, *batch.record_table(t), arrays.feature)
                    if not sink.put(GrownTree(number, arrays, unit)):
                        return

    def report(self):
        return self._recorder.report(self._n_trees)
