"""
Honest leaves
=============

A tree searches for the cuts that best separate the targets, and then predicts the means of the same targets: the largest means
are large partly by chance. In an honest tree, some rows choose the cuts, and the other rows give the leaves their values. This
example implements an honest splitter in plain Python, and grows trees on pure noise, where every leaf should predict 0. The
repository also has a version in Cython, ``examples/splitters/honest``, which supports weights, missing values and categories.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import DecisionTreeRegressor
from dforest.splitter import Cut, PythonSplitter


class HonestSplitter(PythonSplitter):
    """Rows of even number choose the cuts; leaves learn from rows of odd number."""

    def leaf_records(self, node):
        """Which rows a leaf learns from."""
        return node.rows % 2 == 1

    def find_split(self, node):
        """The best cut, or None if there is none.

        A valid cut leaves `min_samples_leaf` rows of either half on both sides.
        """
        odd = self.leaf_records(node)
        targets = node.targets[~odd] - node.targets[~odd].mean()
        best = None
        for feature in node.order.tolist():
            # For a cut after each code: the rows of either half on the left side, and
            # the sum of the targets there.
            codes, n_codes = node.codes(feature), node.n_codes(feature)
            even_left, odd_left = (
                np.cumsum(np.bincount(codes[half], minlength=n_codes))
                for half in (~odd, odd)
            )
            sum_left = np.cumsum(np.bincount(codes[~odd], targets, minlength=n_codes))
            even_right, odd_right = even_left[-1] - even_left, odd_left[-1] - odd_left
            fewest = np.min([even_left, even_right, odd_left, odd_right], axis=0)
            allowed = np.flatnonzero(fewest >= node.min_draws)
            if len(allowed) > 0:
                inverse = 1 / even_left[allowed] + 1 / even_right[allowed]
                decrease = sum_left[allowed] ** 2 * inverse
                if best is None or decrease.max() > best.score:
                    code = int(allowed[decrease.argmax()])
                    best = Cut(feature, code, float(decrease.max()))
        return best


# %%
# Ordinary and honest trees are grown on 200 data sets of 1,000 rows of noise. The mean of a leaf, divided by its standard
# error, should approximately follow the standard normal distribution, whose middle 95 % lie between -1.96 and 1.96.
random = np.random.default_rng(0)


def leaf_scores(tree, X, y, learned):
    """For each leaf, the mean of its `learned` rows divided by its standard error."""
    leaves, y = tree.apply(X)[learned], y[learned]
    by_leaf = [y[leaves == leaf] for leaf in np.unique(leaves)]
    return [
        targets.mean() / (targets.std(ddof=1) / np.sqrt(len(targets)))
        for targets in by_leaf
    ]


ordinary = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
honest = DecisionTreeRegressor(
    min_samples_leaf=20, splitter=HonestSplitter(), random_state=0
)
scores = {"Ordinary trees": [], "Honest trees": []}
for _ in range(200):
    X, y = random.normal(size=(1000, 3)), random.normal(size=1000)
    every, odd = np.ones(1000, bool), np.arange(1000) % 2 == 1
    scores["Ordinary trees"] += leaf_scores(ordinary.fit(X, y), X, y, every)
    scores["Honest trees"] += leaf_scores(honest.fit(X, y), X, y, odd)

# %%
grid = np.linspace(-6, 6, 200)
fig, axes = plt.subplots(
    2, 1, figsize=(6.4, 5.4), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, values), color in zip(
    axes, scores.items(), ["tab:orange", "tab:blue"], strict=True
):
    within = np.mean(np.abs(values) <= 1.96)
    ax.hist(
        values,
        bins=np.arange(-6, 6.1, 0.4),
        density=True,
        color=color,
        alpha=0.6,
        label=f"{len(values)} leaves",
    )
    ax.plot(
        grid,
        np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi),
        color="black",
        linestyle="--",
        label="Standard normal",
    )
    ax.axvspan(-1.96, 1.96, color="gray", alpha=0.12)
    ax.set(
        title=f"{name}: {100 * within:.0f} % of the leaves lie between -1.96 and 1.96",
        ylabel="Density",
    )
    ax.legend(loc="upper right")
axes[1].set_xlabel("Mean of a leaf divided by its standard error")
plt.show()

# %%
# In the ordinary trees, only three of five leaves have a mean within 1.96 standard errors of the truth, and the distribution
# has two shoulders: the search has put high targets into some leaves and low ones into others. The leaves of the honest trees
# follow the normal curve, and ordinary confidence intervals around their means cover nearly as often as they should. The
# missing percent is due to Student's distribution, which is wider than the normal distribution for the twenty to forty rows of
# a leaf. The legends show the price: because each half must have 20 rows in each leaf, honest trees have fewer than half as
# many leaves.
