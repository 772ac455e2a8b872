"""
Rare values: bins or every cut
==============================

By default, forests sort each column into at most 256 bins of about equally many rows (``method="hist"``), which is fast and
usually as good as any other method. A bin contains 0.4 % of the rows, and no cut can be made inside it. If you are looking for
something rarer than that, such as faults or fraud, use ``method="dense"``, which tries every cut between two values. This
example shows what the bins hide.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import RandomForestClassifier

random = np.random.default_rng(0)
shares = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016]
X_train, X_test = random.normal(size=(2, 20_000, 4))

# %%
# The positive class consists of the rows with the largest values of the first column, from 0.05 % to 1.6 % of all rows. The
# measure is the recall: the share of the class that is found among 20,000 other rows.
settings = {
    'method="dense"': {"method": "dense"},
    'method="hist", max_bins=2048': {"max_bins": 2048},
    'method="hist" (256 bins)': {},
}
recall = {name: [] for name in settings}
for share in shares:
    limit = np.quantile(X_train[:, 0], 1 - share)
    y_train, y_test = X_train[:, 0] > limit, X_test[:, 0] > limit
    for name, setting in settings.items():
        forest = RandomForestClassifier(n_estimators=10, random_state=0, **setting)
        forest.fit(X_train, y_train)
        recall[name].append(forest.predict(X_test)[y_test].mean())

# %%
fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (name, values), marker in zip(recall.items(), "os^", strict=True):
    ax.plot(100 * np.array(shares), values, marker=marker, label=name)
ax.axvline(100 / 256, color="gray", linestyle=":")
ax.annotate(
    "one bin of 256",
    (100 / 256, 0.03),
    xytext=(5, 0),
    textcoords="offset points",
    color="dimgray",
)
ax.set(
    xscale="log",
    xticks=100 * np.array(shares),
    xticklabels=[f"{100 * share:g}" for share in shares],
    ylim=(-0.03, 1.05),
    xlabel="Share of the rare class (% of the rows)",
    ylabel="Recall on 20,000 other rows",
    title="Bins do not show a class that is rarer than a bin",
)
ax.minorticks_off()
ax.legend(loc="center right")
plt.show()

# %%
# With 256 bins, the class is not found at all if it has 0.1 % of the rows or less: its rows share a bin with more rows of the
# other class, and no cut can separate them. As soon as the class fills a bin, all three settings find nearly all of it. 2,048
# bins move this limit to an eighth of the share, and ``method="dense"`` has no such limit; what it misses at 0.05 % is due to
# there being only ten rows of the class to learn from.
