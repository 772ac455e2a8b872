"""
Dropped iterations
==================

In ordinary boosting, the first trees say nearly all, and later ones mend what they left over in a few rows. With
``boosting="dart"``, some of the iterations so far are dropped while another one is grown, and then the new tree and the dropped
ones share what they say. Here is how much the trees of both kinds of models say, and how their predictions of held-out rows
become better, iteration by iteration.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from dforest import HistGradientBoostingRegressor

X, y = make_friedman1(3000, noise=1.0, random_state=0)
X_train, X_held_out, y_train, y_held_out = train_test_split(X, y, test_size=0.5, random_state=0)
settings = {"learning_rate": 0.3, "max_iter": 150, "scoring": "r2", "n_iter_no_change": 150, "use_best_model": False}
models = {
    "ordinary boosting": HistGradientBoostingRegressor(**settings, random_state=0),
    "a tenth is dropped in every second iteration": HistGradientBoostingRegressor(
        **settings, boosting="dart", random_state=0
    ),
    "half are dropped in each iteration": HistGradientBoostingRegressor(
        **settings, boosting="dart", drop_rate=0.5, skip_drop=0.0, max_drop=None, random_state=0
    ),
}

# %%
# The estimators of a boosted model are its trees, each of which predicts what it adds to raw predictions.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, model in models.items():
    model.fit(X_train, y_train, X_val=X_held_out, y_val=y_held_out)
    added = [np.abs(tree.predict(X_held_out)).mean() for tree in model.estimators_[:, 0]]
    left.plot(np.arange(1, 151), added, ".", markersize=4)
    right.plot(model.validation_score_, label=name)
    print(f"{name}: R2 {model.validation_score_[-1]:.3f} in the end, {model.best_score_:.3f} at best")
left.set(xlabel="Iteration", ylabel="Mean magnitude of what its tree adds", yscale="log")
right.set(xlabel="Iterations", ylabel="R2 of held-out rows", ylim=(0.7, None))
right.legend(fontsize=8, loc="lower right")
plt.show()

# %%
# Where trees are dropped, late ones still say much. Scores are by the weights that trees have at the time. Whether anything is
# gained depends on the table, and on the learning rate, which is high here: :doc:`/guide_boosting` has figures.
