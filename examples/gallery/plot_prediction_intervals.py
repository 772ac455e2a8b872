"""
Prediction intervals and their coverage
=======================================

A predicted mean does not tell how far from it a target may lie. A forest with ``keep_training_data=True`` can estimate this in
two ways: ``predict_quantiles`` estimates quantiles of the target for each row, and ``predict_interval`` puts an interval around
each prediction, whose width is by default derived from the out-of-bag errors of all rows. This example compares the two on data
whose noise grows from left to right.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import RandomForestRegressor

random = np.random.default_rng(0)


def make_rows(n_rows):
    """A wave with noise, whose standard deviation grows from 0.1 to 1.1."""
    x = np.sort(random.uniform(0, 10, n_rows))
    return x[:, None], np.sin(x) + random.normal(scale=0.1 + 0.1 * x)


X_train, y_train = make_rows(1500)
X_test, y_test = make_rows(3000)
forest = RandomForestRegressor(
    n_estimators=200, min_samples_leaf=20, keep_training_data=True, random_state=0
)
forest.fit(X_train, y_train)

# %%
# Both methods are asked for intervals that cover 90 % of the targets.
intervals = {
    "predict_quantiles, 5 % to 95 %": forest.predict_quantiles(X_test, [0.05, 0.95]),
    'predict_interval, method="oob"': forest.predict_interval(
        X_test, level=0.9, method="oob"
    ),
}

# %%
# The lower row of pictures shows the coverage in ten sections of the range of the feature.
edges = np.linspace(0, 10, 11)
stretch = np.digitize(X_test[:, 0], edges) - 1
fig, axes = plt.subplots(
    2,
    2,
    figsize=(7.5, 5.6),
    sharex=True,
    sharey="row",
    height_ratios=[2, 1],
    layout="constrained",
)
for (above, below), (name, interval) in zip(axes.T, intervals.items(), strict=True):
    covered = (interval[:, 0] <= y_test) & (y_test <= interval[:, 1])
    above.scatter(
        X_test[::3], y_test[::3], s=3, color="gray", label="Test rows (every third)"
    )
    above.plot(X_test, forest.predict(X_test), color="tab:orange", label="Prediction")
    above.fill_between(
        X_test[:, 0], *interval.T, color="tab:blue", alpha=0.3, label="Interval"
    )
    above.set_title(name, fontsize=11)
    below.bar(
        edges[:-1] + 0.5,
        [covered[stretch == i].mean() for i in range(10)],
        width=0.8,
        color="tab:blue",
        alpha=0.6,
    )
    below.axhline(0.9, color="black", linestyle="--", linewidth=1)
    below.set(xlabel="Feature", ylim=(0.5, 1.02))
    print(f"{name}: {covered.mean():.3f} of the test targets are covered")
axes[0, 0].set_ylabel("Target")
axes[1, 0].set_ylabel("Coverage")
axes[0, 0].legend(loc="lower left", fontsize=8)
plt.show()

# %%
# Overall, both methods cover nearly as many targets as they should. However, the intervals of ``predict_interval`` are equally
# wide everywhere: on the left, where there is little noise, they cover all targets, and on the right only three quarters of
# them. The intervals between quantiles grow with the noise, and cover 84 to 92 % of the targets in each section. If the noise
# differs from row to row, intervals between quantiles are therefore the better choice, although their coverage is somewhat
# below the level asked for.
