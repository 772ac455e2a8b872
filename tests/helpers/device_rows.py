"""Rows, and a small kernel that is run on them to see whether a device works."""

import numpy as np

ROWS = np.random.default_rng(0).random((1000, 3))


def most(device, rows=ROWS, **how):
    """The place of the largest entry of each row."""
    out = device.zeros(len(rows), np.int64)
    n_block = 7
    device.run("df_most", -(-len(rows) // n_block), device.array(rows), rows.shape[1], len(rows), n_block, out, **how)
    return out.get()


def check_order(device, rng, n_steps=3000):
    """Make arrays on a device, of some sizes, and write to them: each holds what was written last."""
    arrays = []
    for step in range(n_steps):
        kind = rng.integers(0, 6)
        n = int(rng.integers(0, 40) if rng.random() < 0.8 else rng.integers(0, 30_000))
        if kind < 2:
            content = rng.integers(0, 100, n)
            arrays.append((device.array(content), content))
        elif kind == 2:
            arrays.append((device.zeros(n, np.int64), np.zeros(n, np.int64)))
        elif kind == 3:
            there, content = device.empty(n, np.int64), np.full(n, step)
            there.write(content)
            arrays.append((there, content.copy()))
        elif arrays and kind == 4:
            there, content = arrays[rng.integers(len(arrays))]
            first = int(rng.integers(0, len(content) + 1))
            content[first:] = step
            there.write(content[first:], first)
        if len(arrays) > 30:
            there, content = arrays.pop(rng.integers(len(arrays)))
            np.testing.assert_array_equal(there.get(), content)
    for there, content in arrays:
        np.testing.assert_array_equal(there.get(), content)
