"""
Pruning by cost and complexity
==============================

A single tree that grows until its leaves are pure learns the noise by heart. Pruning removes the branches whose leaves are not
worth their number: of all subtrees, it keeps the one with the least impurity plus ``ccp_alpha`` times its number of leaves.
This example follows the subtrees from the whole tree down to its root, and chooses one of them by cross-validation.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split, validation_curve

from dforest import DecisionTreeClassifier

# A fifth of the labels are replaced by random ones.
X, y = make_classification(
    1000, 10, n_informative=4, flip_y=0.2, class_sep=1.2, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
tree = DecisionTreeClassifier(random_state=0)

# %%
# ``cost_complexity_pruning_path`` gives the values of ``ccp_alpha`` at which the tree loses branches. The last one leaves only
# the root.
path = tree.cost_complexity_pruning_path(X_train, y_train)
alphas = path.ccp_alphas[:-1]
trees = [
    DecisionTreeClassifier(ccp_alpha=alpha, random_state=0).fit(X_train, y_train)
    for alpha in alphas
]
n_leaves = [pruned.get_n_leaves() for pruned in trees]

# %%
# The test set shows how good each subtree is; the choice is made without it, by cross-validation on the training rows.
_, scores = validation_curve(
    tree, X_train, y_train, param_name="ccp_alpha", param_range=alphas, cv=10
)
# The smallest tree among the best:
chosen = len(alphas) - 1 - scores.mean(axis=1)[::-1].argmax()

# %%
fig, (above, below) = plt.subplots(
    2, 1, figsize=(6.4, 6), sharex=True, layout="constrained"
)
above.step(alphas, n_leaves, where="post", color="tab:green")
above.set(ylabel="Leaves", title="From the whole tree, on the left, to a few leaves")
for name, values in [
    ("Training rows", [pruned.score(X_train, y_train) for pruned in trees]),
    ("Test set", [pruned.score(X_test, y_test) for pruned in trees]),
    ("Cross-validation", scores.mean(axis=1)),
]:
    below.step(alphas, values, where="post", label=name)
below.set(xlabel="ccp_alpha", ylabel="Accuracy", xlim=(-0.0005, 0.02))
for ax in (above, below):
    ax.axvline(alphas[chosen], color="gray", linestyle=":")
below.annotate(
    f"chosen: {n_leaves[chosen]} leaves",
    (alphas[chosen], 0.97),
    xytext=(5, 0),
    textcoords="offset points",
    color="dimgray",
)
below.legend(loc="upper right")
plt.show()

# %%
# The whole tree has 74 leaves and predicts every training row correctly, wrong labels included, but not even three quarters of
# the test set. As branches are cut off, the accuracy on the training rows falls, while the accuracy on the test set rises by
# several points, until branches are lost that did more than fit noise. Cross-validation detects this from the training rows
# alone, and chooses a tree of 10 leaves, which is more accurate than the whole tree and small enough to read.
for name, i in [("Whole tree", 0), ("Chosen", chosen)]:
    accuracy = trees[i].score(X_test, y_test)
    print(f"{name}: {n_leaves[i]} leaves, accuracy {accuracy:.3f} on the test set")
