"""
Losses of boosted trees and outliers
====================================

The loss decides what boosted trees predict. The squared error leads to the mean, which a few extreme targets can pull away; the
absolute error leads to the median, and Huber's loss lies between the two. The pinball loss (``"quantile"``) leads to a quantile
of your choice. In this example, one target in sixteen is much too high.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import HistGradientBoostingRegressor

random = np.random.default_rng(0)
x = np.sort(random.uniform(0, 10, 800))
truth = 2 * np.sin(x) + 0.3 * x
y = truth + random.normal(scale=0.4, size=len(x))
is_outlier = random.random(len(x)) < 1 / 16
y[is_outlier] += random.exponential(scale=10, size=is_outlier.sum())

# %%
# Only the loss differs between the models.
parameters = {
    "max_leaf_nodes": 8,
    "max_iter": 60,
    "min_samples_leaf": 30,
    "random_state": 0,
}
losses = {
    "Squared error": {"loss": "squared_error"},
    "Huber": {"loss": "huber", "quantile": 0.8},
    "Absolute error": {"loss": "absolute_error"},
    "Quantile 0.2": {"loss": "quantile", "quantile": 0.2},
    "Quantile 0.8": {"loss": "quantile", "quantile": 0.8},
}
predicted = {}
for name, loss in losses.items():
    model = HistGradientBoostingRegressor(**loss, **parameters).fit(x[:, None], y)
    predicted[name] = model.predict(x[:, None])
for name in ["Squared error", "Huber", "Absolute error"]:
    distance = np.abs(predicted[name] - truth).mean()
    print(f"{name}: mean absolute distance from the true curve {distance:.2f}")

# %%
fig, (left, right) = plt.subplots(
    1, 2, figsize=(7.5, 4.2), sharey=True, layout="constrained"
)
for ax in (left, right):
    ax.scatter(x, y, s=6, color="silver", label="Training rows")
    ax.plot(
        x,
        truth,
        color="black",
        linestyle="--",
        linewidth=1.2,
        label="Truth without outliers",
    )
    ax.set(xlabel="Feature", ylim=(-2.5, 10))
for name, color in [
    ("Squared error", "tab:red"),
    ("Huber", "tab:green"),
    ("Absolute error", "tab:blue"),
]:
    left.plot(x, predicted[name], color=color, linewidth=1.2, label=name)
right.fill_between(
    x,
    predicted["Quantile 0.2"],
    predicted["Quantile 0.8"],
    color="tab:purple",
    alpha=0.4,
    zorder=3,
    label="Between quantiles 0.2 and 0.8",
)
inside = np.mean((predicted["Quantile 0.2"] <= y) & (y <= predicted["Quantile 0.8"]))
print(f"{inside:.3f} of the training targets lie between the two quantiles")
left.set(title="Centres", ylabel="Target")
right.set_title("Quantiles")
left.legend(loc="upper left", fontsize=8)
right.legend(loc="upper left", fontsize=8)
plt.show()

# %%
# On the left, the squared error is pulled up wherever there are outliers, in spikes where several are close together. Huber's
# loss and the absolute error stay next to the curve that the other rows follow: their distances from it are about a seventh of
# that of the squared error. On the right, the band between the two quantiles is meant to contain 60 % of the targets, which it
# does on the training rows. Some outliers lie above the edge of the pictures.
