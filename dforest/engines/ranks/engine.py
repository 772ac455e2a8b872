"""Ranks as an engine: together they grow the trees that `dforest.engines.cpu` grows in one process, to the bit.

Nodes of more than S records are grown level by level, on the own rows of each rank, by a device: to the kernels, the processor is
one too. Smaller nodes are shipped, and grown depth first by their owners. S changes the time that a fit takes, and its memory,
never the forest. Trees that can't be grown from sums over rows have owners too, which get the codes of all rows
(`dforest.engines.ranks.whole_trees`).
"""

import os
import platform

import numpy as np

from dforest.core.draws import draw_pieces
from dforest.engines.base import BoostingSession, Engine
from dforest.engines.boosting_driver import Iterations
from dforest.engines.device.engine import DeviceSession, boosting_shard
from dforest.engines.device.sampling import RowCounts
from dforest.engines.device.shard import ForestShard
from dforest.engines.memory import RECORD_BYTES, boosting_memory_by_level, forest_memory_by_level
from dforest.engines.problem import BoostingProblem
from dforest.engines.ranks.boosting import AHEAD, KEPT_ROOM, RankBoostingShard
from dforest.engines.ranks.shard import RankForestShard, RankRecorder
from dforest.engines.ranks.shipping import Shipping
from dforest.engines.ranks.whole_trees import WholeTrees, grows_whole, whole_bytes
from dforest.rules.records import record
from dforest.spmd.draws import DrawAllocator

# Sizes of the machinery, set by tests: attributes of `_Sizes`. They change the time, never the forest.
TUNING = {}
ALL = 1 << 62  # more records than any node has
MAX_ROOM = 1 << 26  # bytes that a whole tree may take on its owner, where that saves many rounds
MAX_TREES = 64  # of a batch
ALLOCATED_AHEAD = 8  # trees whose draws a rank allocates at a time, as this takes one thread for a tree; fewer of wide plans
DRAW_BYTES = 2 * record("df_record").itemsize + 4  # that a row of a tree takes: its record, a place to move it to, its count
NODE_BYTES = 13  # that a node of a forest takes at least: feature, link, a threshold of 32 bits, the side of missing values


class RankEngine(Engine):
    """Grows trees on the rows of several ranks.

    Parameters
    ----------
    ranks : Communicator
    device : dforest.engines.device.backend.Device
        Where this rank works on nodes of many records.
    n_threads : int
        Threads of the processor that this rank uses.
    """

    needs_keys = True

    def __init__(self, ranks, device, n_threads):
        self.ranks, self.device, self.n_threads = ranks, device, n_threads
        self.name = device.name

    def open(self, problem):
        if isinstance(problem, BoostingProblem):
            recorder = RankRecorder(self.ranks, self.device)
            shard = RankBoostingShard(self.ranks, boosting_shard(problem, recorder, self.ranks))
            return BoostingSession(problem, Iterations(problem, shard), recorder)
        return RankSession(problem, self.ranks, self.device, self.n_threads)

    def estimate_memory(self, problem, n_trees, n_leaves, n_distinct=None, scores=0):
        ranks, n_threads, is_host = self.ranks, self.n_threads, self.device.is_cpu
        if isinstance(problem, BoostingProblem):
            return boosting_memory_by_level(
                problem, n_trees, n_leaves, n_threads, is_host, AHEAD, ranks.room, scores, ranks.size,
                KEPT_ROOM * ranks.room,
            )  # fmt: skip
        sizes = _Sizes(problem, ranks)
        return forest_memory_by_level(
            problem, n_trees, n_leaves, n_distinct, n_threads, is_host, sizes.n_trees, sizes.ship_up_to, sizes.histogram_bytes,
            max(sizes.histogram_bytes, MAX_ROOM if sizes.ship_up_to == ALL else 0),
            whole_bytes(problem) if grows_whole(problem) else 0,
        )  # fmt: skip


class RankSession(DeviceSession):
    """A rank at work on a problem; see `Session`."""

    knows_rows = False

    def __init__(self, problem, ranks, device, n_threads):
        sizes = _Sizes(problem, ranks)
        super().__init__(problem, RankRecorder(ranks, device, min(sizes.ship_up_to, problem.n_rows)), n_threads)
        self._ranks, self.sizes = ranks, sizes
        self._pieces = problem.share.pieces()
        self._allocator = DrawAllocator(ranks, problem.n_rows, problem.share)
        if grows_whole(problem):
            self._shipping = WholeTrees(ranks, problem, self._training.codes.get(), n_threads)
        else:
            self._shipping = Shipping(ranks, problem, self._training, sizes.shipment_records, n_threads)
        machine = platform.node()
        self._n_here = ranks.gather_objects(machine).count(machine)  # ranks of this machine

    def close(self):
        self._training = self._shipping = None

    def _shards(self, seeds):
        problem, training, ranks, sizes = self.problem, self._training, self._ranks, self.sizes
        piece = np.searchsorted(self._allocator.blocks, self._pieces[0])
        # Fewer at a time of plans that have many numbers for a block.
        together, n_ahead = sizes.n_trees, max(1, ALLOCATED_AHEAD // problem.sampling.width)
        n_allocated = together * -(-ranks.size * n_ahead // together)
        for first in range(0, len(seeds), together):
            at, own, weights = first % n_allocated, seeds[first : first + together], None
            if at == 0:
                ahead = seeds[first : first + n_allocated]
                allocated = self._allocator.allocate((problem.sampling,) * len(ahead), ahead, self._n_threads)
            of_piece = allocated[at : at + together][:, piece]
            counts = draw_pieces(problem.sampling, own, problem.n_rows, of_piece, self._pieces, self._n_threads)
            if problem.targets.balance is not None:
                weights = problem.targets.balance.integer_weights(counts)
            local = ForestShard(training, own, RowCounts.known(training.device, counts), weights)
            shard = RankForestShard(ranks, local, problem, self._shipping, sizes.ship_up_to, sizes.histogram_bytes)
            yield slice(first, first + together), shard

    def _check_first(self, tree):
        """Raise MemoryError if a forest of trees like this one cannot fit the memory that this rank has.

        No limit on trees tells before one is grown how small they will be at least.
        """
        n_trees = self._n_wanted
        n_nodes = len(tree.feature)
        need = n_trees * (n_nodes * NODE_BYTES + tree.payload_words.nbytes)
        have = machine_bytes() // self._n_here
        if need > have:
            raise MemoryError(
                f"{n_trees} trees like the first one, of {n_nodes} nodes, take at least {need / 2**20:.1f} MiB on every rank, "
                f"as each gets the whole forest; this rank has {have / 2**20:.1f} MiB, its share of the memory of a machine with "
                f"{self._n_here} ranks. max_depth, max_leaf_nodes, min_samples_leaf and max_samples make trees smaller"
            )


def machine_bytes():
    """The memory of this machine, in bytes; where the system does not tell, more than any forest takes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows
        return ALL


class _Sizes:
    """How much is done at a time. All ranks compute equal sizes, from numbers that all of them know.

    Attributes
    ----------
    n_trees : int
        Trees of a batch.
    ship_up_to : int
        S: records of the largest node that is shipped.
    shipment_records : int
        About how many records an owner is sent at a time.
    histogram_bytes : int
        Most memory for histograms at a time.
    """

    def __init__(self, problem, ranks):
        own_rows, code_bytes = -(-problem.n_rows // ranks.size), max(column.codes.itemsize for column in problem.columns)
        row_bytes = problem.n_features * code_bytes + 8 * (problem.objective.n_outputs - 1)  # and targets
        # Scratch is to take about as much memory as the codes of the own rows, or some MiB where that is little.
        room = max(ranks.room, own_rows * row_bytes)
        own_records = min(own_rows, problem.sampling.max_records(problem.n_rows))
        self.n_trees = max(1, min(room // (own_records * DRAW_BYTES), MAX_TREES))
        self.shipment_records = max(1, room // (row_bytes + RECORD_BYTES))
        # Subtrees of a shipment's size would be dealt out unevenly.
        self.ship_up_to = max(1, min(self.shipment_records, problem.n_rows // ranks.size) // 2)
        self.histogram_bytes = room
        is_whole = grows_whole(problem)
        # Best first, ranks would meet for every few nodes; so whole trees are shipped, as many at a time as there are owners.
        whole_bytes = problem.sampling.max_records(problem.n_rows) * (row_bytes + RECORD_BYTES)
        if is_whole or (problem.rules.max_leaf_nodes and whole_bytes <= MAX_ROOM):
            self.ship_up_to, self.n_trees = ALL, max(self.n_trees, min(ranks.size, MAX_TREES))
        for name, number in TUNING.items():
            setattr(self, name, number)
        if is_whole:
            self.ship_up_to = ALL
