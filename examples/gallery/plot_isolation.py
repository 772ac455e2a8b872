"""
Outliers: rows that few splits part from the others
===================================================

Two sensors of a machine mostly show one of two states. Some readings fit neither. An isolation forest finds them without being
told what to look for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from dforest import IsolationForest

rng = np.random.default_rng(0)
idle = rng.multivariate_normal([2, 2], [[0.3, 0.2], [0.2, 0.3]], 700)
busy = rng.multivariate_normal([6, 5], [[0.6, -0.4], [-0.4, 0.6]], 1300)
faults = rng.uniform(0, 9, (40, 2))
X = np.concatenate([idle, busy, faults])
is_fault = np.arange(len(X)) >= 2000

# %%
# Each tree draws 256 readings. A score near -1 is that of a reading which is alone after few splits. The share of outliers may
# be given, if it is about known: it sets the score below which a reading is called one.
forest = IsolationForest(200, contamination=0.02, random_state=0).fit(X)
scores = forest.score_samples(X)
print(f"area under the ROC curve: {roc_auc_score(is_fault, -scores):.3f}")
print(f"outliers by the forest: {(forest.predict(X) < 0).sum()}, of which faults: {(forest.predict(X[is_fault]) < 0).sum()}")

# %%
# Scores of all points of the plane, and the line at which outliers begin; and how long the paths of
# readings are on average.
grid = np.linspace(-0.5, 9.5, 200)
plane = np.stack(np.meshgrid(grid, grid), axis=-1)
height = forest.score_samples(plane.reshape(-1, 2)).reshape(200, 200)
fig, (ax, bars) = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained")
filled = ax.contourf(grid, grid, height, levels=15, cmap="Blues_r")
ax.contour(grid, grid, height, levels=[forest.offset_], colors="black")
ax.scatter(*X[~is_fault].T, s=3, color="white", edgecolors="gray", linewidths=0.3, label="states")
ax.scatter(*X[is_fault].T, s=12, color="C1", label="faults")
ax.set(xlabel="sensor 1", ylabel="sensor 2", title="black line: `offset_`")
ax.legend(loc="upper left")
fig.colorbar(filled, ax=ax, label="score")

lengths = forest.predictor().predict(X).ravel()
for rows, name, color in ((~is_fault, "states", "C0"), (is_fault, "faults", "C1")):
    bars.hist(lengths[rows], bins=np.linspace(4, 13, 46), density=True, alpha=0.7, label=name, color=color)
bars.set(xlabel="mean length of a reading's paths", ylabel="density")
bars.legend()
plt.show()

# %%
# Thresholds of single sensors leave bands of high scores to the left and right of the states, and above and below. Splits by both
# sensors together, at hyperplanes of random directions, follow the shapes of the states.
extended = IsolationForest(200, extension_level=1, contamination=0.02, random_state=0).fit(X)
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained", sharey=True)
for ax, model, title in zip(axes, (forest, extended), ("one sensor", "two sensors"), strict=True):
    height = model.score_samples(plane.reshape(-1, 2)).reshape(200, 200)
    ax.contourf(grid, grid, height, levels=15, cmap="Blues_r")
    ax.contour(grid, grid, height, levels=[model.offset_], colors="black")
    ax.scatter(*X[~is_fault].T, s=3, color="white", edgecolors="gray", linewidths=0.3)
    ax.scatter(*X[is_fault].T, s=12, color="C1")
    area = roc_auc_score(is_fault, -model.score_samples(X))
    ax.set(xlabel="sensor 1", title=f"splits by {title}: area {area:.3f}")
axes[0].set_ylabel("sensor 2")
plt.show()

# %%
# Faults that happen to lie among the readings of a state can't be found by anybody.
