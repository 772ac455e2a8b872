"""
Smoothed leaves
===============

A leaf of few rows predicts what these rows happen to say. With `leaf_smoothing`, predictions are drawn towards those of the nodes
above the leaf, which have more rows. This example smooths the leaves of single trees and of forests.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import DecisionTreeRegressor, RandomForestRegressor

# %%
# The targets are a sine curve with much noise. A tree that nothing limits has a leaf for each row.
random = np.random.default_rng(0)


def noisy_curve(n_rows):
    X = random.uniform(0, 10, size=(n_rows, 1))
    return X, np.sin(X[:, 0]) + random.normal(0, 0.7, size=n_rows)


X, y = noisy_curve(300)
grid = np.linspace(0, 10, 1000)[:, None]
fig, axes = plt.subplots(3, 1, figsize=(6.4, 6.4), sharex=True, layout="constrained")
for ax, strength in zip(axes, [0, 10, 100], strict=True):
    tree = DecisionTreeRegressor(
        method="dense", leaf_smoothing=strength, random_state=0
    ).fit(X, y)
    ax.plot(X[:, 0], y, ".", color="gray", markersize=3, label="Rows")
    ax.plot(grid[:, 0], tree.predict(grid), color="tab:blue", label="Tree")
    ax.plot(grid[:, 0], np.sin(grid[:, 0]), "--", color="black", label="Truth")
    ax.set(title=f"leaf_smoothing={strength}", ylabel="Target")
axes[2].legend(loc="lower left", ncols=3)
axes[2].set_xlabel("Feature")
plt.show()

# %%
# All three trees have the same splits. With a strength of 10, steps are small where they rest on few rows, and the tree still
# follows the curve; with 100, it becomes too flat. Test rows tell which strength is best.
X_test, y_test = noisy_curve(2000)
strengths = np.array([0.3, 1, 3, 10, 30, 100, 300])
models = {
    "Single tree": DecisionTreeRegressor(random_state=0),
    "Random forest": RandomForestRegressor(random_state=0),
}
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (name, model), color in zip(
    models.items(), ["tab:blue", "tab:orange"], strict=True
):
    errors = [
        np.mean(
            (
                y_test
                - model.set_params(leaf_smoothing=strength).fit(X, y).predict(X_test)
            )
            ** 2
        )
        for strength in [0, *strengths]
    ]
    ax.axhline(errors[0], color=color, linestyle=":", label=f"{name}, not smoothed")
    ax.plot(strengths, errors[1:], "o-", color=color, label=name)
ax.axhline(0.49, color="black", linestyle="--", label="Noise alone")
ax.set(
    xscale="log", xlabel="leaf_smoothing", ylabel="Mean squared error on test rows"
)
ax.legend()
plt.show()

# %%
# The best strength takes off three quarters of what noise adds to the error of a single tree. A forest averages the noise of its
# leaves anyway, and gains less. These targets are noisy, and all forests here overfit them; where targets are not, forests are
# better left as they are.
