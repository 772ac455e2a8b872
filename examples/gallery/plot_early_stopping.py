"""
Early stopping of boosted trees
===============================

Unlike a forest, boosted trees get worse on new rows when there are too many of them. With ``early_stopping=True`` some rows are
held out, growing stops when their loss has not improved for ``n_iter_no_change`` iterations, and the model keeps the iterations
up to the best one. For three learning rates, this example compares the best iteration with the error on a test set when growing
goes on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from dforest import HistGradientBoostingRegressor

X, y = make_friedman1(n_samples=2000, noise=2.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# ``staged_predict`` returns the predictions after each iteration, which gives the whole curve of a model that does not stop
# early.
fig, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for learning_rate, color in [(0.3, "tab:red"), (0.1, "tab:orange"), (0.05, "tab:blue")]:
    parameters = {
        "learning_rate": learning_rate,
        "max_leaf_nodes": 15,
        "max_iter": 300,
        "random_state": 0,
        "defaults": "scikit-learn",  # all columns, and no trees grown anew on all rows
    }
    whole = HistGradientBoostingRegressor(**parameters).fit(X_train, y_train)
    staged = whole.staged_predict(X_test)
    curve = [np.mean((predicted - y_test) ** 2) for predicted in staged]
    stopped = HistGradientBoostingRegressor(early_stopping=True, **parameters)
    stopped.fit(X_train, y_train)
    error = np.mean((stopped.predict(X_test) - y_test) ** 2)
    ax.plot(
        np.arange(1, len(curve) + 1),
        curve,
        color=color,
        label=f"learning rate {learning_rate}",
    )
    ax.plot(
        stopped.best_iteration_,
        error,
        "o",
        color=color,
        markeredgecolor="black",
        markersize=8,
    )
    print(
        f"learning rate {learning_rate}: {len(stopped.validation_score_) - 1} iterations "
        f"were grown, and {stopped.best_iteration_} kept, "
        f"with a test error of {error:.2f}; "
        f"the curve is lowest after {np.argmin(curve) + 1} iterations, {min(curve):.2f}, "
        f"and ends at {curve[-1]:.2f}"
    )
ax.axhline(4, color="gray", linestyle=":")
ax.annotate(
    "variance of the noise",
    (300, 4),
    xytext=(0, 4),
    textcoords="offset points",
    ha="right",
    color="dimgray",
)
ax.set(
    xlabel="Iterations",
    ylabel="Mean squared error on the test set",
    ylim=(3.5, 10),
    title="Circles: the best iteration, which early stopping keeps",
)
ax.legend()
plt.show()

# %%
# At a learning rate of 0.3, the error is lowest after 34 iterations and then rises: the iterations after that fit the noise.
# Early stopping ended this fit after 50 iterations, and kept 40 of them. At a rate of 0.1, the error is lowest after 85
# iterations and rises slowly from there, and at 0.05 it still falls a little after 300 iterations; the iterations that both kept,
# fewer than half of the 300, come within 0.16 of the lowest error. The circles need not lie on the curves, because a tenth of the
# training rows was held out to decide when to stop. Low rates give lower errors and need more iterations.
