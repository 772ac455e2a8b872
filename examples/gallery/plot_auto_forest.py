"""
A blend that chooses its weights
================================

``AutoForestClassifier`` fits a random forest, extra trees and boosted trees, and weighs them by what they predict of rows that
they were not fitted on. This example shows, for some divisions of the rows into training and test rows, what the members
score alone, what the blend scores, and which weights it has found.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import ShuffleSplit

from dforest import AutoForestClassifier

X, y = load_breast_cancer(return_X_y=True)
names = ["random_forest", "extra_trees", "boosted_trees"]
losses, weights = [], []
for train, test in ShuffleSplit(3, train_size=250, random_state=0).split(X):
    blend = AutoForestClassifier(n_estimators=100, random_state=0).fit(X[train], y[train])
    alone = [
        AutoForestClassifier(n_estimators=100, members=[name], random_state=0)
        .fit(X[train], y[train])
        .predict_proba(X[test])
        for name in names
    ]
    predicted = [*alone, blend.predict_proba(X[test])]
    losses.append([log_loss(y[test], probability) for probability in predicted])
    weights.append([entry["weight"] for entry in blend.selection_])
for name, column in zip([*names, "blend"], np.transpose(losses), strict=True):
    print(f"{name}: {column.mean():.3f} ± {column.std(ddof=1) / len(column) ** 0.5:.3f}")

# %%
# The rows are the divisions; a circle is the log loss of a member on the test rows, and its area is its weight in the blend.
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
colors = ["tab:green", "tab:orange", "tab:blue"]
for row, (of_members, shares) in enumerate(zip(losses, weights, strict=True)):
    for loss, share, color in zip(of_members, shares, colors, strict=False):
        ax.scatter(loss, row, s=20 + 600 * share, color=color, alpha=0.7)
    ax.plot([of_members[-1]] * 2, [row - 0.35, row + 0.35], color="black")
for name, color in zip(names, colors, strict=True):
    ax.scatter([], [], color=color, label=name)
ax.plot([], [], color="black", label="blend")
ax.set(xlabel="Log loss on test rows", yticks=range(3), ylabel="Division", ylim=(-0.6, 2.6))
ax.legend()
plt.show()

# %%
# Which member is best differs from division to division. The blend does not know the test rows, and is about as good as the best
# member of each division.
