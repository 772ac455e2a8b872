"""
Splits by sums of columns
=========================

With ``split_axis="oblique"``, the nodes of a tree or a forest compare weighted sums of a few columns with a threshold, where
these are better than single columns. :doc:`/guide_oblique` says which sums are tried. Here, the classes are stripes that run
across two of four columns, and the other two have nothing to do with them.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import RandomForestClassifier, export_text

random = np.random.default_rng(0)


def stripe(X):
    """The class of a row: the number of its stripe, odd or even."""
    return np.floor(1.5 * X[:, 0] - X[:, 1]).astype(int) % 2


X_train, X_test = random.uniform(-1.5, 1.5, size=(2, 600, 4))
y_train = stripe(X_train)

# %%
axis = np.linspace(-1.5, 1.5, 120)
grid = np.zeros((120 * 120, 4))
grid[:, :2] = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
fig, axes = plt.subplots(1, 2, figsize=(8, 4.2), sharey=True, layout="constrained")
for ax, split_axis in zip(axes, ["axis_aligned", "oblique"], strict=True):
    forest = RandomForestClassifier(50, split_axis=split_axis, random_state=0)
    forest.fit(X_train, y_train)
    accuracy = forest.score(X_test, stripe(X_test))
    share = forest.predict_proba(grid)[:, 1].reshape(120, 120)
    ax.imshow(share, extent=(-1.5, 1.5, -1.5, 1.5), origin="lower", cmap="coolwarm")
    ax.set_title(f"{split_axis}: accuracy {accuracy:.2f}", fontsize=11)
    ax.set_xlabel("First column")
axes[0].set_ylabel("Second column")
plt.show()

# %%
# Single columns need many steps to follow an edge that runs across them, and each step takes rows that later ones lack. Sums
# follow it at once, though the forest has to find out which of the six pairs of columns count. The last forest's first tree
# begins like this:
print(export_text(forest[0], feature_names=["first", "second", "third", "fourth"], max_depth=1))
