"""
A map of rows by their proximity
================================

Two rows are close to each other, as a forest sees it, if they often reach the same leaf. This measures distances without
a choice of units or scales, and columns that do not matter for the target hardly count. Multidimensional scaling draws a map
whose distances are as close to these as two dimensions allow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from dforest import RandomForestClassifier

X, y = load_wine(return_X_y=True)
forest = RandomForestClassifier(n_estimators=300, min_samples_leaf=3, keep_training_data=True, random_state=0).fit(X, y)

# %%
# ``kind="leaf"`` is the share of the trees in which two rows reach the same leaf, so the square root of 1 minus this is a
# distance.
squared_distance = 1 - forest.proximity(kind="leaf").toarray()


def classical_scaling(squared_distance):
    """The two coordinates of each row whose distances are the best match for those given (classical scaling)."""
    centred = squared_distance - squared_distance.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-0.5 * centred)
    return vectors[:, :-3:-1] * np.sqrt(values[:-3:-1])


# %%
# The map by the forest is set beside one by Euclidean distances of the standardised columns. Rings mark the five rows that
# ``outlier_scores`` finds farthest from the others of their class.
Z = scale(X)
euclidean = ((Z[:, None] - Z) ** 2).sum(axis=2)
outliers = forest.outlier_scores().argsort()[-5:]
fig, axes = plt.subplots(1, 2, figsize=(7.5, 4.2), layout="constrained")
titles = ["Proximities of the forest", "Euclidean distances"]
for ax, distances, title in zip(axes, [squared_distance, euclidean], titles, strict=True):
    place = classical_scaling(distances)
    for cultivar in range(3):
        ax.scatter(*place[y == cultivar].T, s=18, label=f"Cultivar {cultivar}")
    ax.scatter(*place[outliers].T, s=90, facecolors="none", edgecolors="black", label="Highest outlier scores")
    ax.set(title=title, xlabel="First coordinate", ylabel="Second coordinate")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()

# %%
# The forest has seen the cultivars, and draws them apart: each is an arm, at whose end are the rows that it is sure about. Rows
# near the middle are those that trees disagree about, and all five of the highest outlier scores are among them. In the map by
# Euclidean distances, in which all thirteen columns count equally, the cultivars touch, and two of the five lie next to another
# one. A high outlier score is a reason to look at a row again, be it for a wrong label or for a rare kind.
