"""
Whom a letter moves
===================

An uplift forest learns from an experiment who does something because of a treatment. Those who do it most often are other people:
here some customers buy anyway, and some are put off by a letter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from dforest import RandomForestClassifier, UpliftForestClassifier
from dforest.uplift import qini_curve, uplift_at_k

# %%
# Half of the customers, drawn by lot, get a letter. Regular customers buy with it or without it. Of those who have visited the
# shop lately it persuades one in four, if they are no regulars; and it puts off a few of those who have not visited for long.
random = np.random.default_rng(0)
n = 20_000
orders = random.poisson(3, size=n)
days = random.exponential(60, size=n)
age = random.uniform(18, 80, size=n)
letter = random.random(n) < 0.5
effect = np.where(days < 40, 0.25 * (orders < 4), -0.05)
without = 0.05 + 0.5 / (1 + np.exp(5 - orders))
bought = random.random(n) < np.clip(without + effect * letter, 0, 1)
X = np.column_stack([orders, days, age])

# %%
# Two models rank customers of a test set: a forest of the uplift, and one of the purchases of those who got a letter.
X, X_test, letter, letter_test, bought, bought_test = train_test_split(
    X, letter, bought, random_state=0
)
parameters = {"min_samples_leaf": 100, "random_state": 0}
uplift = UpliftForestClassifier(300, **parameters)
uplift.fit(X, bought, treatment=letter)
buyers = RandomForestClassifier(300, **parameters)
buyers.fit(X[letter], bought[letter])
rankings = {
    "Uplift forest": uplift.predict(X_test),
    "Forest of who buys": buyers.predict_proba(X_test)[:, 1],
}

# %%
# The Qini curve tells how many more purchases letters bring, for each customer of the test set, if those who are ranked first get
# one. A ranking by chance follows the straight line.
fig, ax = plt.subplots(layout="constrained")
for name, ranking in rankings.items():
    share, gain = qini_curve(bought_test, ranking, letter_test)
    ax.plot(100 * share, gain, label=name)
    best = uplift_at_k(bought_test, ranking, letter_test, k=0.3)
    print(f"{name:20s} uplift of the first 30 %: {best:+.3f}")
ax.plot([0, 100], [0, gain[-1]], color="gray", linestyle=":", label="By lot")
ax.set(
    xlabel="Customers who get a letter, those ranked first (%)",
    ylabel="Additional purchases per customer",
)
ax.legend()
plt.show()

# %%
# What the forest takes for the uplift, by the two features that decide it. There are three kinds of customers: those in the lower
# left corner are moved by the letter, those above them buy anyway, and those on the right are put off.
grid = np.column_stack(
    [part.ravel() for part in np.mgrid[0:11, 0:161:4]]
    + [np.full(11 * 41, 49.0)]
)
fig, ax = plt.subplots(layout="constrained")
found = uplift.predict(grid).reshape(11, 41)
image = ax.pcolormesh(
    np.arange(0, 161, 4),
    np.arange(11),
    found,
    cmap="RdBu",
    vmin=-0.25,
    vmax=0.25,
    shading="nearest",
)
ax.set(xlabel="Days since the last visit", ylabel="Orders so far")
fig.colorbar(image, label="Predicted uplift of the probability to buy")
plt.show()

# %%
# Letters to a third of the customers bring half as many purchases again as letters to all, since letters put off some of the
# others. The forest of who buys finds people who are persuaded, too, because letters made them buy; but it puts regular customers
# first, so that its first letters change little.
