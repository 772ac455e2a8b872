"""
Noise of many values, and forests of few features
=================================================

Columns without any bearing on the target look important if they have many values. This example takes that bias out of the
importances, asks which columns matter by more than chance, and then lets a forest keep to the columns that do.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import RandomForestClassifier, corrected_importance, importance_pvalues

rng = np.random.default_rng(0)
n_values = np.repeat([2, 4, 8, 16, 64, 512], 40)  # of columns of noise
noise = rng.integers(0, n_values, (3000, len(n_values)))
signal = rng.integers(0, 2, (3000, 4))  # four columns that matter, of two values each
X = np.hstack([signal, noise])
y = signal.sum(axis=1) + rng.normal(size=3000) > 2
X_test, y_test = X[600:], y[600:]
X, y = X[:600], y[:600]

# %%
# The importance by impurity of a column is what its cuts gain on the training rows, some of it by chance. The corrected one is
# 0 on average for a column of noise; its spread among these tells what chance does, and so gives p-values.
forest = RandomForestClassifier(300, variable_importance="mdi", random_state=0).fit(X, y)
corrected = corrected_importance(forest, X, y, random_state=0)
pvalues = importance_pvalues(corrected)
found = pvalues < 0.001
print(f"p-values below 0.001: {found[:4].sum()} of 4 columns that matter, {found[4:].sum()} of {len(n_values)} of noise")

# %%
# With `regularization_factor`, the gain of a split counts less if no split above uses its column, so that paths from the root to
# a leaf have fewer different columns. With one factor for all columns, noise is as welcome at the root as before. With a factor
# for each, which follows from its importance, it is not.
share = np.clip(corrected, 0, None) / corrected.max()
factors = np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.1])
ways = {
    "one factor for all columns": lambda factor: factor,
    "a factor for each column": lambda factor: factor + (1 - factor) * share,
}


def look(regularization_factor):
    """The mean number of different columns on a path, the share of splits by noise, and the accuracy on other rows."""
    fitted = RandomForestClassifier(
        100, max_features=0.3, min_samples_leaf=10, regularization_factor=regularization_factor, random_state=0
    ).fit(X, y)
    on_paths, by_noise = [], []
    for tree in fitted.estimators_:
        feature = tree.tree_.feature
        uses = feature[:, None] == np.arange(X.shape[1])
        on_paths.append((tree.decision_path(X_test[:200]) @ uses > 0).sum(axis=1).mean())
        by_noise.append((feature >= 4).sum() / (feature >= 0).sum())
    return np.mean(on_paths), np.mean(by_noise), fitted.score(X_test, y_test)


results = {name: np.array([look(way(factor)) for factor in factors]) for name, way in ways.items()}

# %%
# Each dot is a column of noise, at its number of values; lines are the columns that matter.
fig, axes = plt.subplots(2, 3, figsize=(10, 6.4), layout="constrained")
values = n_values * rng.uniform(0.85, 1.15, len(n_values))
for ax, importances, title in zip(
    axes[0],
    (forest.variable_importance_, corrected, pvalues),
    ("importance by impurity", "corrected importance", "p-value"),
    strict=True,
):
    ax.scatter(values, importances[4:], s=6, color="C0", alpha=0.6, label="noise")
    for j in range(4):
        ax.axhline(importances[j], color="C1", linewidth=1, label="columns that matter" if j == 0 else None)
    ax.set(xscale="log", xlabel="number of values", title=title)
axes[0, 0].legend()
titles = ("different columns on a path", "share of splits by noise", "accuracy on other rows")
for k, (ax, title) in enumerate(zip(axes[1], titles, strict=True)):
    for name, numbers in results.items():
        ax.plot(factors, numbers[:, k], "o-", markersize=4, label=name)
    ax.set(xlabel="regularization_factor", title=title, xlim=(1.05, 0))
axes[1, 1].set_ylim(0, 1)
axes[1, 1].legend(loc="lower left")
plt.show()

# %%
# By impurity, noise of hundreds of values ranks not far below the weakest columns that matter; the corrected importances of noise
# are around 0, whatever its values, and the p-values tell all four columns from chance. One factor for all columns makes paths of
# fewer columns, and changes the accuracy little. Factors that follow from importances keep noise out of splits, and the forest
# predicts other rows better.
