"""
Quantiles and conformal intervals of boosted trees
==================================================

Where the spread of the targets differs from row to row, one number for each row says little. If ``quantile`` is a list, one
model of boosted trees predicts several quantiles, which never cross. As trees are fitted to their training rows, quantiles that
were to hold 90 % of the targets between them hold fewer of those of new rows. Rows that were left out of the fit say by how much
they must be moved: intervals then hold what was asked for.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import HistGradientBoostingRegressor

random = np.random.default_rng(0)


def make_rows(n_rows):
    """Waves with noise, which is skewed and grows from left to right, and nine columns that tell nothing."""
    X = random.uniform(0, 10, (n_rows, 10))
    noise = random.gamma(2.0, 0.2 + 0.1 * X[:, 0])
    return X, np.sin(X[:, 0]) + noise


X_train, y_train = make_rows(1000)
X_left, y_left = make_rows(500)
X_test, y_test = make_rows(4000)
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
model = HistGradientBoostingRegressor("quantile", quantile=levels, random_state=0)
model.fit(X_train, y_train)

# %%
# The rows that were left out are told to the model. Its predictions stay what they are.
model.conformalize(X_left, y_left)
intervals = {
    'method="quantiles"': model.predict_interval(X_test, level=0.9, method="quantiles"),
    'method="conformal"': model.predict_interval(X_test, level=0.9),
}
for name, (low, high) in ((name, ends.T) for name, ends in intervals.items()):
    covered = np.mean((low <= y_test) & (y_test <= high))
    print(f"{name}: {covered:.3f} of the test targets are covered")

# %%
# On the left are the quantiles that the model predicts, as the medians of rows whose first column is about the same; the thin
# lines are the true quantiles. On the right is the share of targets that the intervals cover, in ten sections of that column.
edges = np.linspace(0, 10, 41)
section = np.digitize(X_test[:, 0], edges) - 1
middle = edges[:-1] + 0.125
predicted = model.predict(X_test)
curves = np.array([np.median(predicted[section == i], axis=0) for i in range(40)])
fine = np.linspace(0, 10, 200)
drawn = random.gamma(2.0, 1.0, 100_000)
true = np.sin(fine)[:, None] + (0.2 + 0.1 * fine)[:, None] * np.quantile(drawn, levels)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.scatter(X_test[::4, 0], y_test[::4], s=3, color="lightgray", label="Test rows (every fourth)")
colors = plt.cm.viridis(np.linspace(0, 0.9, 5))
for k, level in enumerate(levels):
    left.plot(middle, curves[:, k], color=colors[k], label=f"{level:g}")
    left.plot(fine, true[:, k], color=colors[k], linewidth=0.7, linestyle=":")
left.set(xlabel="First column", ylabel="Target", ylim=(-1.5, 8))
left.legend(title="Quantile", fontsize=7, title_fontsize=8, loc="upper left", ncols=2)
tenth = np.digitize(X_test[:, 0], np.linspace(0, 10, 11)) - 1
for shift, (name, (low, high)) in zip((-0.2, 0.2), ((n, e.T) for n, e in intervals.items()), strict=True):
    covered = (low <= y_test) & (y_test <= high)
    right.bar(np.arange(10) + 0.5 + shift, [covered[tenth == i].mean() for i in range(10)], width=0.38, label=name)
right.axhline(0.9, color="black", linestyle="--", linewidth=1)
right.set(xlabel="First column", ylabel="Coverage", ylim=(0.5, 1.02))
right.legend(fontsize=8, loc="lower left")
plt.show()

# %%
# The quantiles as predicted cover 82 % of the test targets, and the intervals 90 %. Both are wide where there is much noise. What
# is guaranteed holds on average over rows: in some sections intervals cover more, in others less, as all rows of the model are
# moved by one number.
