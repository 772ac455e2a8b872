"""
Categorical columns as they are, or one-hot
===========================================

A column of labels without an order can be passed to dforest as it is: a node then tests whether a label is in a set, which may
contain half of the labels. One-hot encoding makes a column of each label instead, so that a node can only separate one label
from all others. This example compares the accuracy, time and size of the two for columns with more and more labels.
"""

import pickle
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from dforest import RandomForestRegressor


def make_table(n_labels, n_rows=3000, random_state=0):
    """Three columns of labels with random effects on the target, three of numbers."""
    random = np.random.default_rng(random_state)
    labels = random.integers(n_labels, size=(n_rows, 3))
    numbers = random.normal(size=(n_rows, 3))
    effects = random.normal(size=(n_labels, 3))
    y = (
        effects[labels, np.arange(3)].sum(axis=1)
        + numbers[:, 0]
        + random.normal(scale=0.5, size=n_rows)
    )
    table = pd.DataFrame(numbers, columns=["length", "width", "height"])
    for column, name in zip(labels.T, ["town", "maker", "colour"], strict=True):
        table[name] = pd.Categorical([f"{name} {label}" for label in column])
    return table, y


# %%
# Both use a forest with the same parameters. The time includes encoding and growing, and the size is that of the pickled
# forest.
forest = RandomForestRegressor(n_estimators=30, min_samples_leaf=2, random_state=0)
encoder = make_column_transformer(
    (
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        ["town", "maker", "colour"],
    ),
    remainder="passthrough",
)
models = {
    "Labels as they are": make_pipeline("passthrough", forest),
    "One-hot": make_pipeline(encoder, forest),
}
n_labels = [4, 8, 16, 32, 64]
results = {name: [] for name in models}
for n in n_labels:
    X_train, X_test, y_train, y_test = train_test_split(*make_table(n), random_state=0)
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        depth = np.mean([tree.get_depth() for tree in model[-1].estimators_])
        megabytes = len(pickle.dumps(model[-1])) / 1e6
        results[name].append([model.score(X_test, y_test), seconds, megabytes, depth])

# %%
fig, axes = plt.subplots(2, 2, figsize=(7, 5.6), sharex=True, layout="constrained")
titles = [
    "R² on the test set",
    "Fit time (seconds)",
    "Size (megabytes)",
    "Mean depth of the trees",
]
for name, measured in results.items():
    columns = np.transpose(measured)
    for ax, values, title in zip(axes.flat, columns, titles, strict=True):
        ax.plot(n_labels, values, "o-", label=name)
        ax.set_title(title, fontsize=11)
for ax in axes.flat:
    ax.set_ylim(bottom=0)
for ax in axes[1]:
    ax.set(
        xscale="log",
        xticks=n_labels,
        xticklabels=n_labels,
        xlabel="Labels of each column",
    )
    ax.minorticks_off()
axes[0, 0].legend(loc="lower left")
plt.show()

# %%
# With four labels in each column, the two hardly differ. With more labels, one-hot trees become much deeper, as each cut sets
# only one label apart, and they run out of rows before they have told the labels apart: with 64 labels, R² is 0.55 for one-hot
# columns and 0.78 for labels as they are. The fit takes longer too, because there are 195 columns instead of six. The price of
# the sets of labels is memory: forests with such sets are up to one and a half times as large.
for name, measured in results.items():
    score, seconds, megabytes, _ = measured[-1]
    print(f"{name}, 64 labels: R² {score:.2f}, {seconds:.2f} s, {megabytes:.2f} MB")
