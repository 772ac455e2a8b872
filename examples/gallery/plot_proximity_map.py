"""
A map of rows by their proximity
================================

To a forest, two rows are close to each other if they often reach the same leaf. This measure of distance needs no choice of
units or scales, and columns that do not matter for the target hardly count. Multidimensional scaling draws a map whose
distances are as close to these distances as two dimensions allow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from dforest import RandomForestClassifier

X, y = load_wine(return_X_y=True)
forest = RandomForestClassifier(
    n_estimators=300, min_samples_leaf=3, keep_training_data=True, random_state=0
).fit(X, y)

# %%
# ``kind="leaf"`` is the share of the trees in which two rows reach the same leaf, so the square root of 1 minus this is a
# distance.
squared_distance = 1 - forest.proximity(kind="leaf").toarray()


def classical_scaling(squared_distance):
    """Two coordinates of each row, whose distances match the given ones best."""
    centred = squared_distance - squared_distance.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-0.5 * centred)
    return vectors[:, :-3:-1] * np.sqrt(values[:-3:-1])


# %%
# For comparison, a second map uses the Euclidean distances of the standardised columns. Rings mark the five rows that,
# according to ``outlier_scores``, are farthest from the others of their class.
Z = scale(X)
euclidean = ((Z[:, None] - Z) ** 2).sum(axis=2)
outliers = forest.outlier_scores().argsort()[-5:]
fig, axes = plt.subplots(1, 2, figsize=(7.5, 4.2), layout="constrained")
titles = ["Proximities of the forest", "Euclidean distances"]
squared_distances = [squared_distance, euclidean]
for ax, distances, title in zip(axes, squared_distances, titles, strict=True):
    place = classical_scaling(distances)
    for cultivar in range(3):
        ax.scatter(*place[y == cultivar].T, s=18, label=f"Cultivar {cultivar}")
    ax.scatter(
        *place[outliers].T,
        s=90,
        facecolors="none",
        edgecolors="black",
        label="Highest outlier scores",
    )
    ax.set(title=title, xlabel="First coordinate", ylabel="Second coordinate")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()

# %%
# The forest has been trained on the cultivars, and separates them: each cultivar forms an arm, at whose end are the rows that
# the forest is sure about. The trees disagree about the rows near the middle, among which are all five rows with the highest
# outlier scores. In the map by Euclidean distances, in which all thirteen columns count equally, the cultivars touch, and two
# of the five rows lie next to another cultivar. A high outlier score is a reason to look at a row again: its label may be
# wrong, or it may be of a rare kind.
