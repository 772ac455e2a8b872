"""What trees draw, on a device: the draws of `dforest.core.sampling`, to the bit.

Of plans that stand in `PLANS`, the processor allocates draws to blocks of rows, and kernels draw the rows of the blocks. Of all
others the processor draws the rows too, and the counts are copied.
"""

from typing import NamedTuple

import numpy as np

from dforest.core.sampling import AllRows, Bootstrap, WithLabelOrder
from dforest.rules.arrays import BLOCK

# The kernel that draws for trees of a plan, which takes what `df_draw_rows` takes; None: every row is drawn once.
PLANS = {AllRows: None, Bootstrap: "df_draw_rows"}


class RowCounts(NamedTuple):
    """How often some trees draw each row.

    Attributes
    ----------
    there : DeviceArray of shape (n_trees, n_rows), dtype uint32, or None
        On the device; None: once.
    n_drawn : ndarray of shape (n_trees, n_blocks), dtype int64
        How many rows of each block are drawn at all.
    most : int
        The largest count; at least 1.
    """

    there: object
    n_drawn: np.ndarray
    most: int

    @classmethod
    def known(cls, device, counts):
        """Those that are known: ndarray of shape (n_trees, n_rows), dtype uint32."""
        starts, n_drawn = np.arange(0, counts.shape[1], BLOCK), np.zeros((len(counts), 0), np.int64)
        if len(starts):
            n_drawn = np.add.reduceat(counts > 0, starts, axis=1, dtype=np.int64)
        return cls(device.array(counts), n_drawn, int(counts.max(initial=1)))

    @classmethod
    def drawn(cls, device, draws, trees=slice(None)):
        """Those of some of the trees of a `TreeDraws`."""
        of_block, plans = draws.of_block[trees], draws.plans[trees]
        plans = [plan.plan if isinstance(plan, WithLabelOrder) and not plan.counts_order else plan for plan in plans]
        n_trees, n_rows = len(of_block), draws.n_rows
        kinds = {type(plan) for plan in plans}
        if len(kinds) > 1 or not kinds <= PLANS.keys() or draws.width > 1:
            seeds = draws.seeds[trees].tolist()
            return cls.known(device, np.stack([plan.counts(n_rows, seed) for plan, seed in zip(plans, seeds, strict=True)]))
        kernel = PLANS[kinds.pop()]
        of_block = of_block[:, :, 0]
        if kernel is None:
            return cls(None, of_block, 1)
        counts = device.empty((n_trees, n_rows), np.uint32)
        n_drawn, highest = device.empty(of_block.shape, np.int64), device.empty(of_block.shape, np.uint32)
        device.run(kernel, min(of_block.size, device.n_groups), device.array(draws.seeds[trees]), n_trees, n_rows,
                   device.array(of_block), counts, n_drawn, highest, n_local=counts.dtype.itemsize * BLOCK)  # fmt: skip
        return cls(counts, n_drawn.get(), int(highest.get().max(initial=1)))
