"""Rows for trees with oblique splits."""

import numpy as np
import pandas as pd


def rotated(seed, n=2000, p=6):
    """Classes on the two sides of a plane that is not parallel to any axis."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, p))
    return rows, (rows @ rng.standard_normal(p) > 0).astype(int)


def mixed(seed=0, n=400):
    """A table of numbers with gaps, and of categories, of which some numbers and some categories count."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["x", "y", "z", "w"], n)
    target = frame["a"] - frame["b"] + (frame["kind"] == "z") + 0.1 * rng.standard_normal(n)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "kind"] = None
    return frame.astype({"kind": "category"}), target.to_numpy()
