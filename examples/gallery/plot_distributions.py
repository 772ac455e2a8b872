"""
Whole distributions by boosted trees
====================================

How many bicycles are rented in an hour depends on the hour, and so does how much this number varies. One boosted model predicts
the mean and the size of a negative binomial distribution for each hour. This example makes such counts, compares the
distributions with a Poisson distribution of the same mean, and looks at whether they are right.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import HistGradientBoostingDistribution, HistGradientBoostingRegressor
from dforest.distribution import PredictedDistribution, ZeroInflatedPoisson

rng = np.random.default_rng(0)
n = 6000
hour, warmth = rng.uniform(0, 24, n), rng.normal(size=n)
mean = np.exp(2.5 + np.sin((hour - 8) / 24 * 2 * np.pi) + 0.4 * warmth)
size = np.where((hour > 7) & (hour < 19), 20.0, 1.5)  # nights vary far more
counts = rng.negative_binomial(size, size / (size + mean))
X = np.column_stack([hour, warmth])
train = np.arange(n) < 4000

# %%
# ``score`` is the mean logarithm of the probability of the counts: the higher, the better.
model = HistGradientBoostingDistribution("negative_binomial", random_state=0)
model.fit(X[train], counts[train])
means = HistGradientBoostingRegressor("poisson", random_state=0)
means.fit(X[train], counts[train])
rates = np.column_stack([means.predict(X[~train]), np.zeros(2000)])
poisson = PredictedDistribution(ZeroInflatedPoisson(), rates)  # no share of zeros
new = counts[~train]
print(f"negative binomial: {model.score(X[~train], new):.3f}")
print(f"Poisson:           {poisson.mean_log_density(new):.3f}")

# %%
# The quantiles of each hour of a day of mean warmth, and the ranks of new counts in their distributions. If these are right, all
# ranks are equally frequent; of counts, a rank is drawn between the probabilities of fewer and of at most as many.
at = np.linspace(0, 24, 241)
day = model.predict_distribution(np.column_stack([at, np.zeros(241)]))
lower, median, upper = day.quantile([0.05, 0.5, 0.95]).T
predicted, u = model.predict_distribution(X[~train]), rng.random(len(new))
ranks = {
    "negative binomial": predicted.cdf(new - 1) * u + predicted.cdf(new) * (1 - u),
    "Poisson": poisson.cdf(new - 1) * u + poisson.cdf(new) * (1 - u),
}

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
near = np.abs(warmth) < 0.3
left.plot(hour[near], counts[near], ".", markersize=2, color="0.6", label="counts")
left.fill_between(at, lower, upper, alpha=0.3, label="90% interval")
left.plot(at, median, label="median")
left.set(xlabel="hour", ylabel="rented", ylim=(0, 80))
left.legend()
for name, of_rows in ranks.items():
    right.hist(of_rows, bins=20, range=(0, 1), density=True, histtype="step", label=name)
right.axhline(1, color="black", linewidth=0.5)
right.set(xlabel="rank of a new count in its distribution", ylabel="density")
right.legend()
plt.show()

# %%
# At night, intervals are wide though means are low, as few hours have most of what is rented then. The Poisson distribution knows
# a mean alone: far too many new counts lie below or above nearly all that it holds for likely. The ranks of the negative binomial
# distributions are nearly equally frequent, but for the ends, as trees that were fitted to rows take new ones for a little more
# certain than they are.
