"""
Honest leaves
=============

A tree looks for the cuts that set targets apart, and then predicts the means of the targets that it has searched: the largest
means are large partly by chance. In an honest tree, some rows choose the cuts and the others give the leaves their values. This
example writes such a splitter in plain Python, and grows trees on pure noise, where every leaf should predict 0. The
repository has one in Cython that works with weights, missing values and categories, ``examples/splitters/honest``.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import DecisionTreeRegressor
from dforest.splitter import Cut, PythonSplitter


class HonestSplitter(PythonSplitter):
    """Rows of even number choose the cuts, and leaves learn from rows of odd number."""

    def leaf_records(self, node):
        """Which rows a leaf learns from."""
        return node.rows % 2 == 1

    def find_split(self, node):
        """The best cut that leaves `min_samples_leaf` rows of either half on both sides, or None if there is none."""
        odd = self.leaf_records(node)
        targets = node.targets[~odd] - node.targets[~odd].mean()
        best = None
        for feature in node.order.tolist():
            # For each code: the rows of either half on the left of a cut after it, and the sum of their targets.
            codes, n_codes = node.codes(feature), node.n_codes(feature)
            even_left, odd_left = (np.cumsum(np.bincount(codes[half], minlength=n_codes)) for half in (~odd, odd))
            sum_left = np.cumsum(np.bincount(codes[~odd], targets, minlength=n_codes))
            even_right, odd_right = even_left[-1] - even_left, odd_left[-1] - odd_left
            allowed = np.flatnonzero(np.min([even_left, even_right, odd_left, odd_right], axis=0) >= node.min_draws)
            if len(allowed) > 0:
                decrease = sum_left[allowed] ** 2 * (1 / even_left[allowed] + 1 / even_right[allowed])
                if best is None or decrease.max() > best.score:
                    best = Cut(feature, int(allowed[decrease.argmax()]), float(decrease.max()))
        return best


# %%
# Ordinary and honest trees are grown on 200 sets of 1,000 rows of noise. A leaf's mean, divided by its standard error, should be
# distributed about as a standard normal number is, whose middle 95 % lie between -1.96 and 1.96.
random = np.random.default_rng(0)


def leaf_scores(tree, X, y, learned):
    """The mean of each leaf divided by its standard error, by the rows that leaves learned from."""
    leaves, y = tree.apply(X)[learned], y[learned]
    by_leaf = [y[leaves == leaf] for leaf in np.unique(leaves)]
    return [targets.mean() / (targets.std(ddof=1) / np.sqrt(len(targets))) for targets in by_leaf]


ordinary = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
honest = DecisionTreeRegressor(min_samples_leaf=20, splitter=HonestSplitter(), random_state=0)
scores = {"Ordinary trees": [], "Honest trees": []}
for _ in range(200):
    X, y = random.normal(size=(1000, 3)), random.normal(size=1000)
    scores["Ordinary trees"] += leaf_scores(ordinary.fit(X, y), X, y, np.ones(1000, bool))
    scores["Honest trees"] += leaf_scores(honest.fit(X, y), X, y, np.arange(1000) % 2 == 1)

# %%
grid = np.linspace(-6, 6, 200)
fig, axes = plt.subplots(2, 1, figsize=(6.4, 5.4), sharex=True, sharey=True, layout="constrained")
for ax, (name, values), color in zip(axes, scores.items(), ["tab:orange", "tab:blue"], strict=True):
    within = np.mean(np.abs(values) <= 1.96)
    ax.hist(values, bins=np.arange(-6, 6.1, 0.4), density=True, color=color, alpha=0.6, label=f"{len(values)} leaves")
    ax.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color="black", linestyle="--", label="Standard normal")
    ax.axvspan(-1.96, 1.96, color="gray", alpha=0.12)
    ax.set(title=f"{name}: {100 * within:.0f} % of the leaves lie between -1.96 and 1.96", ylabel="Density")
    ax.legend(loc="upper right")
axes[1].set_xlabel("Mean of a leaf divided by its standard error")
plt.show()

# %%
# In the ordinary trees, only three of five leaves have a mean within 1.96 standard errors of the truth, and the scores have two
# shoulders: the search has put high targets into some leaves and low ones into others. The leaves of the honest trees follow the
# normal curve, and their ordinary confidence intervals hold about what they promise. The missing percent is that of
# Student's distribution, which is wider than the normal one for the twenty to forty rows of a leaf. The price is seen in the
# legends: as either half must have 20 rows in each leaf, honest trees have fewer than half as many leaves.
