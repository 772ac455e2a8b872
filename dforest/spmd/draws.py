"""How many draws of trees fall into blocks of rows, allocated by ranks together.

Which rows of a block a tree draws follows from how many of its draws fall into the block (`dforest.core.sampling`). To find this
number for some blocks takes about as long as for all of them, and time for every draw of the tree. So one rank finds the numbers
of a tree, and tells each other rank those of the blocks in which that rank has rows.
"""

import numpy as np

from dforest.core.draws import TreeDraws, draw_pieces, width_of
from dforest.core.grow.trainer import tree_seeds
from dforest.core.sampling import Subsample


class DrawAllocator:
    """Allocates draws of trees to the blocks in which this rank has rows.

    Making one is a collective.

    Parameters
    ----------
    ranks : Communicator
    n_rows : int
        Rows that trees draw from, those of all ranks.
    share : RowShare
        The rows of this rank.

    Attributes
    ----------
    blocks : ndarray of shape (n_blocks,), dtype int64
        The blocks in which this rank has rows, ascending.
    """

    def __init__(self, ranks, n_rows, share):
        self._ranks, self._n_rows = ranks, n_rows
        self.blocks = np.unique(share.pieces()[0])
        self._blocks_of = ranks.gather(self.blocks)

    def allocate(self, plans, seeds, n_threads):
        """How many draws of each tree fall into each of the blocks. A collective.

        Rank r allocates the draws of the trees r, r + size, ... For each of these it has 8 bytes per block of all ranks, for each
        number that its plans have for a block.

        Parameters
        ----------
        plans : tuple of SamplingPlan
            Of each tree, on all ranks.
        seeds : ndarray of shape (n_trees,), dtype uint32
        n_threads : int
            Most threads. Each allocates the draws of a tree; all together those of large trees that are too few for that.

        Returns
        -------
        ndarray of shape (n_trees, n_blocks, width), dtype int64
            As `TreeDraws.of_block`, of all plans, has it for these blocks.
        """
        rank, size = self._ranks.rank, self._ranks.size
        allocated = TreeDraws(tuple(plans[rank::size]), np.ascontiguousarray(seeds[rank::size]), self._n_rows, n_threads).of_block
        parts = [allocated[:, blocks].ravel() for blocks in self._blocks_of]
        result = np.zeros((len(seeds), len(self.blocks), width_of(plans)), np.int64)
        for other, part in enumerate(self._ranks.exchange(parts)):
            of_other = result[other::size, :, : width_of(plans[other::size])]  # as wide as that rank's trees need it
            of_other[:] = part.reshape(of_other.shape)
        return result


def subsampled(share, n_draws, seed):
    """Which own rows a `Subsample` of all ranks' rows draws: see `drawn_by`. n_draws : from 1 to the number of all ranks' rows"""
    return drawn_by(Subsample(n_draws), share, seed)


def drawn_by(plan, share, seed):
    """How often a plan for all ranks' rows draws own rows: ndarray of shape (n_own,), dtype uint32.

    Parameters
    ----------
    plan : SamplingPlan
    share : RowShare
    seed : int
        Below 2**32.
    """
    seeds, pieces = np.array([seed], np.uint32), share.pieces()
    of_block = TreeDraws((plan,), seeds, share.n_rows, 1).of_block
    return draw_pieces(plan, seeds, share.n_rows, of_block[:, pieces[0]], pieces, 1)[0]


def stratified(share, n_draws, seed, classes, n_classes, ranks):
    """Which own rows are drawn, if as many of all ranks' rows are drawn as `n_draws` says, of each class its share. A collective.

    A class has its share of the draws rounded down; draws that are left over go to the classes that lack most, of equal ones to
    the first.

    Parameters
    ----------
    share : RowShare
    n_draws : int
    seed : int
        Below 2**64.
    classes : ndarray of shape (n_own,)
        Class numbers.
    n_classes : int
    ranks : Communicator

    Returns
    -------
    ndarray of shape (n_own,), dtype bool
    """
    own = np.bincount(classes.astype(np.intp), minlength=n_classes)
    n_members = ranks.sum(own.astype(np.int64))
    lacking, n_of_class = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    for k, n in enumerate(n_members.tolist()):
        n_of_class[k], rest = divmod(n * n_draws, share.n_rows)
        lacking[k] = rest / share.n_rows
    n_of_class[np.argsort(-lacking, kind="stable")[: n_draws - int(n_of_class.sum())]] += 1
    drawn = np.zeros(len(classes), bool)
    for k, of_class in enumerate(tree_seeds(seed, range(n_classes)).tolist()):
        members = classes == k
        of_members = share.of_some(ranks, members)
        if n_of_class[k]:
            drawn[members] = subsampled(of_members, int(n_of_class[k]), of_class) > 0
    return drawn


def assign_parts(share, n_parts, seed, classes, n_classes, ranks):
    """Which part each own row falls into, if all ranks' rows are assigned to parts, the rows of each class evenly. A collective.

    The numbers of rows of two parts, and of their rows of one class, differ by one at most.

    Parameters
    ----------
    share : RowShare
    n_parts : int
    seed : int
        Below 2**64.
    classes : ndarray of shape (n_own,)
        Class numbers.
    n_classes : int
    ranks : Communicator

    Returns
    -------
    ndarray of shape (n_own,), dtype int64
    """
    part, n_before = np.zeros(len(classes), np.int64), 0
    for k, of_class in enumerate(tree_seeds(seed, range(n_classes)).tolist()):
        left = np.flatnonzero(classes == k)
        of_left = share.of_some(ranks, classes == k)
        n_members = of_left.n_rows
        for j, of_part in enumerate(tree_seeds(of_class, range(n_parts)).tolist()):
            n_draws = n_members // n_parts + ((j - n_before) % n_parts < n_members % n_parts)
            if n_draws:
                drawn = subsampled(of_left, n_draws, of_part) > 0
                part[left[drawn]] = j
                left, of_left = left[~drawn], of_left.of_some(ranks, ~drawn)
        n_before += n_members
    return part
