"""
One tree for all classes
========================

With more than two classes, boosted trees grow a tree for each class in every iteration. With ``multi_class="one_tree"``, they
grow one tree for all of them, whose leaves have a value for each class. Such a tree has to suit all classes, so that it says less
of each; but the model has far fewer nodes. Here are both on the ten digits of scikit-learn, iteration by iteration, beside trees
for all classes that have more leaves.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from dforest import HistGradientBoostingClassifier

X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.4, random_state=0)
settings = {"max_iter": 150, "learning_rate": 0.1, "early_stopping": False, "random_state": 0}
models = {
    "a tree for each class, 31 leaves": HistGradientBoostingClassifier(random_state=0),
    "one tree, 31 leaves": HistGradientBoostingClassifier(multi_class="one_tree", random_state=0),
    "one tree, 127 leaves": HistGradientBoostingClassifier(
        multi_class="one_tree", max_leaf_nodes=127, min_samples_leaf=5, random_state=0
    ),
}

# %%
# The nodes of a model are those of all its trees. `node_offsets` says where the nodes of each tree begin.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, model in models.items():
    model.set_params(**settings).fit(X_train, y_train)
    losses = [log_loss(y_test, shares) for shares in model.staged_predict_proba(X_test)]
    nodes = model.forest_.node_offsets[model.n_trees_per_iteration_ :: model.n_trees_per_iteration_]
    (line,) = left.plot(np.arange(1, 151), losses, label=name)
    right.plot(nodes, losses, color=line.get_color(), label=name)
    print(f"{name}: log loss {losses[-1]:.3f}, accuracy {model.score(X_test, y_test):.3f}, {nodes[-1]} nodes")
left.set(xlabel="Iteration", ylabel="Log loss of test rows", yscale="log")
right.set(xlabel="Nodes of the model so far", xscale="log", yscale="log")
left.legend(fontsize=8)
plt.show()

# %%
# In the first iterations, trees for each class lose less, as there are ten of them. In the end, the trees for all classes lose no
# more, with a quarter of the nodes, or half of them where they have 127 leaves. On other tables it is the other way round: see
# :doc:`/guide_boosting`.
