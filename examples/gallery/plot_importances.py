"""
Importances by impurity and by permutation
==========================================

The importance of a column can be measured in two ways: by how much its cuts lower the impurity of the training rows, and by how
much the error rises when its values are permuted. The results differ for columns that carry no information but have many values
to cut between. This example adds such a column to the diabetes data: random numbers, which no measure should find important.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from dforest import RandomForestRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True)
X = X.assign(random=np.random.default_rng(0).normal(size=len(X)))
forest = RandomForestRegressor(n_estimators=200, max_features=0.5, random_state=0)
forest.fit(X, y)

# %%
# The importance by impurity is a mean over the trees, and the spread shows how much single trees disagree. Here, values are
# permuted among the rows that each tree left out, so that permutation also gives a number for each tree.
by_impurity = np.array([tree.feature_importances_ for tree in forest.estimators_])
by_permutation = forest.oob_importance(X, y).importances.T

# %%
# Boxes span the middle half of the trees, and whiskers reach from the 5th to the 95th percentile. The white diamonds are the
# means, by which the columns are ordered.
fig, axes = plt.subplots(2, 1, figsize=(6.4, 7), layout="constrained")
titles = [
    "Decrease in impurity on the training rows (share)",
    "Rise of the mean squared error on the rows out of bag, when permuted",
]
measured = [by_impurity, by_permutation]
for ax, importances, title in zip(axes, measured, titles, strict=True):
    order = importances.mean(axis=0).argsort()
    boxes = ax.boxplot(
        importances[:, order],
        orientation="horizontal",
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        tick_labels=X.columns[order],
        medianprops={"color": "black"},
        showmeans=True,
        meanprops={
            "marker": "D",
            "markerfacecolor": "white",
            "markeredgecolor": "black",
            "markersize": 4,
        },
    )
    for patch, name in zip(boxes["boxes"], X.columns[order], strict=True):
        patch.set_facecolor("tab:red" if name == "random" else "tab:blue")
        patch.set_alpha(0.6)
    ax.axvline(0, color="gray", linewidth=0.8)
    ax.set_title(title, fontsize=11)
plt.show()

# %%
# By impurity, the random column ranks above age, s1, s2 and sex: it offers hundreds of cuts, and some of them lower the
# impurity of the training rows by chance. It would be wrong to conclude that it matters more than sex, which has only two
# values to cut between. By permutation, on rows that a tree has not seen, the random column is second to last, and its mean is
# small compared with the spread over trees. Both measures agree on the columns that matter most: bmi and s5.
