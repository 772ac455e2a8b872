"""
Leaves that are linear
======================

With ``leaf_model="linear"``, the leaves of boosted trees add linear functions of the columns that are tested on the way to them,
where they otherwise add one number each. :doc:`/guide_linear_leaves` says how they are found. Here, what is to be predicted rises
steadily, falls off at once, and is flat.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import HistGradientBoostingRegressor

random = np.random.default_rng(0)


def truth(x):
    """What is to be predicted, but for noise."""
    return np.where(x < 5.0, x, 1.0)


x = random.uniform(0.0, 10.0, size=(150, 1))
y = truth(x[:, 0]) + 0.3 * random.standard_normal(len(x))

# %%
grid = np.linspace(-2.0, 12.0, 1000)[:, None]
inside = (grid[:, 0] > 0.0) & (grid[:, 0] < 10.0)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, leaf_model in zip(axes, ["constant", "linear"], strict=True):
    model = HistGradientBoostingRegressor(leaf_model=leaf_model, max_leaf_nodes=4, random_state=0)
    predicted = model.fit(x, y).predict(grid)
    error = np.sqrt(np.square(predicted - truth(grid[:, 0]))[inside].mean())
    ax.plot(x, y, ".", color="lightgrey")
    ax.plot(grid, truth(grid[:, 0]), color="black", linewidth=1)
    ax.plot(grid, predicted, color="tab:red")
    ax.set_title(f"{leaf_model}: error {error:.2f}", fontsize=11)
    ax.set_xlabel("The only column")
plt.show()

# %%
# Constants follow the slope by steps, linear leaves follow it as it is. Left and right of all training rows, both predict what
# they predict at the edges: no leaf adds more than it adds to its training rows. ``leaf_model="auto"`` lets rows that are held
# out decide between the two:
model = HistGradientBoostingRegressor(leaf_model="auto", max_leaf_nodes=4, random_state=0).fit(x, y)
print(model.leaf_model_, {name: round(score, 3) for name, score in model.leaf_model_scores_.items()})
