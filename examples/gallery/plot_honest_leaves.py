"""
Honest leaves
=============

A tree searches for the cuts that best separate the targets, and then predicts the means of the same targets: the largest means
are large partly by chance. In an honest tree, one half of the rows chooses the cuts, and the other half gives the leaves their
values. This example grows trees on pure noise, where every leaf should predict 0.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import DecisionTreeRegressor

# %%
# Ordinary and honest trees are grown on 200 data sets of 1,000 rows of noise. The mean of a leaf, divided by its standard
# error, should approximately follow the standard normal distribution, whose middle 95 % lie between -1.96 and 1.96.
random = np.random.default_rng(0)


def leaf_scores(tree, X, y):
    """For each leaf, the mean of the rows that fill it, divided by its standard error."""
    fills = tree.forest_.row_counts(0) > 0
    leaves, y = tree.apply(X)[fills], y[fills]
    by_leaf = [y[leaves == leaf] for leaf in np.unique(leaves)]
    return [
        targets.mean() / (targets.std(ddof=1) / np.sqrt(len(targets)))
        for targets in by_leaf
    ]


trees = {
    "Ordinary trees": DecisionTreeRegressor(min_samples_leaf=20, random_state=0),
    "Honest trees": DecisionTreeRegressor(
        min_samples_leaf=20, honest=True, random_state=0
    ),
}
scores = {name: [] for name in trees}
for _ in range(200):
    X, y = random.normal(size=(1000, 3)), random.normal(size=1000)
    for name, tree in trees.items():
        scores[name] += leaf_scores(tree.fit(X, y), X, y)

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
