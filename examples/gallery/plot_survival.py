"""
Survival times: who lasts how long
==================================

Machines are watched until they fail, or until the study ends. Those that still run then are *censored*: it is known only that
they lasted at least so long. Here the load wears machines down, unless they are oiled, and their colour does nothing. As
the data are made up, survival functions can be compared with the true ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import RandomForestRegressor, RandomSurvivalForest

rng = np.random.default_rng(0)
n = 3000
load, is_oiled, colour = rng.random(n), rng.random(n) < 0.5, rng.random(n)
X = np.column_stack([load, is_oiled, colour])


def scale_of(load, is_oiled):
    """The scale of the lifetime, which has a Weibull distribution of shape 2."""
    return 10 * np.exp(-1.5 * load * ~is_oiled)


lifetime = scale_of(load, is_oiled) * rng.weibull(2.0, n)
watched = rng.uniform(2, 12, n)  # machines are bought at different times
y = np.column_stack([lifetime <= watched, np.minimum(lifetime, watched)])
print(f"{y[:, 0].mean():.0%} of the machines have failed")

# %%
# Leaves of 60 machines or more give smooth curves. Out of bag, the forest orders the machines about as well as the true scale
# does, whose concordance is below 1 because lifetimes are random.
parameters = {"min_samples_leaf": 60, "max_features": None, "random_state": 0}
forest = RandomSurvivalForest(300, oob_score=True, **parameters)
forest.fit(X, y)
print(f"concordance out of bag: {forest.oob_score_:.3f}")
print(f"importances: {forest.feature_importances_.round(2)}")

# %%
# Survival functions of three machines, and the true ones.
machines = np.array([[0.9, 0, 0.5], [0.4, 0, 0.5], [0.9, 1, 0.5]])
names = "heavy load", "light load", "heavy load, oiled"
times = np.linspace(0.05, 11.5, 200)
curves = forest.predict_survival_function(machines, return_array=True, times=times)
fig, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
for (load, is_oiled, _), curve, name in zip(machines, curves, names, strict=True):
    (line,) = ax.step(times, curve, where="post", label=name)
    truth = np.exp(-((times / scale_of(load, is_oiled > 0)) ** 2))
    ax.plot(times, truth, "--", color=line.get_color(), linewidth=1)
ax.set(xlabel="years", ylabel="share that still runs", ylim=(0, 1))
ax.legend(title="dashed: the truth", loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Mean lifetimes up to ten years. A forest for numbers that takes the last year seen for the lifetime says too little, and so
# does one that leaves the running machines out.
mean = {"survival forest": forest.predict_restricted_mean(machines, horizon=10)}
failed = y[:, 0] > 0
naive = {"last year seen": slice(None), "failed ones only": failed}
for name, rows in naive.items():
    model = RandomForestRegressor(300, **parameters)
    mean[name] = model.fit(X[rows], y[rows, 1]).predict(machines)
years = np.linspace(0, 10, 2001)
scales = np.array([scale_of(load, oiled > 0) for load, oiled, _ in machines])
mean["truth"] = 10 * np.exp(-((years / scales[:, None]) ** 2)).mean(axis=1)
fig, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
for i, (name, values) in enumerate(mean.items()):
    ax.bar(np.arange(3) + 0.2 * i, values, 0.2, label=name)
ax.set(ylabel="mean years, up to ten", xticks=np.arange(3) + 0.3, xticklabels=names)
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# The survival forest comes close to the truth. The others see heavy loads about as they are, since those machines fail before
# the study ends, but cut the lives of the others short.
