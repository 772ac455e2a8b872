"""
Does it work, for whom, and how sure is that?
=============================================

A causal forest estimates how the effect of a treatment depends on features. Here the treatment is made up, so that its effect is
known: a course that helps those with little experience, and is taken more often by those who are paid well anyway.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import CausalForest

# %%
# Pay rises with experience and with education. The course adds up to three units for beginners, and nothing after ten years.
random = np.random.default_rng(0)
n = 3000
experience, education, age = random.uniform(
    [0, 8, 20], [20, 20, 65], size=(n, 3)
).T
effect = 3 * np.clip(1 - experience / 10, 0, None)
takes_course = random.random(n) < 1 / (1 + np.exp(-(education - 14) / 2))
pay = (
    0.5 * experience
    + education
    + effect * takes_course
    + random.normal(scale=2, size=n)
)
X = np.column_stack([experience, education, age])

# %%
# Those who take the course are paid more, but most of that is their education. The forest compares people who are alike.
naive = pay[takes_course].mean() - pay[~takes_course].mean()
forest = CausalForest(n_estimators=1000, random_state=0)
forest.fit(X, pay, treatment=takes_course)
average = forest.average_effect()
print(f"difference of the means  {naive:.2f}")
print(f"average effect           {average.estimate:.2f} ± {average.standard_error:.2f}")
print(f"truth                    {effect.mean():.2f}")

# %%
# For whom does it work? Effects with their 95 % intervals, for people of average education and age.
grid = np.column_stack([np.linspace(0, 20, 81), np.full(81, 14.0), np.full(81, 42.0)])
ends = forest.predict_interval(grid)
fig, ax = plt.subplots(layout="constrained")
ax.fill_between(grid[:, 0], *ends.T, alpha=0.25, label="95 % interval")
ax.plot(grid[:, 0], forest.predict(grid), label="Causal forest")
ax.plot(
    grid[:, 0],
    3 * np.clip(1 - grid[:, 0] / 10, 0, None),
    color="black",
    linestyle="--",
    label="Truth",
)
ax.set(xlabel="Years of experience", ylabel="Effect on pay")
ax.legend()
plt.show()

# %%
# Who should be offered the course first? A forest of one half of the people ranks the other half. The curve shows by how much the
# first ones gain more than all.
half = np.arange(n) % 2 == 0
rule = CausalForest(500, random_state=0).fit(
    X[half], pay[half], treatment=takes_course[half]
)
judge = CausalForest(500, random_state=1).fit(
    X[~half], pay[~half], treatment=takes_course[~half]
)
ranking = judge.rank_average_effect(rule.predict(X[~half]))
fig, ax = plt.subplots(layout="constrained")
ax.plot(100 * ranking.share[20:], ranking.gain[20:])
ax.axhline(0, color="gray", linewidth=1)
low, high = ranking.estimate.interval()
ax.set(
    xlabel="Share of people, those of the largest predicted effect first (%)",
    ylabel="Gain above the average effect",
    title=f"Area under the curve: {low:.2f} to {high:.2f}",
)
plt.show()

# %%
# Offering the course to the fifth of the people who are to gain most would help them by about one unit more than offering it to
# anybody, and the interval of the area leaves no doubt that the ranking tells something. The difference of the means is mostly
# education, and would have made the course look several times as good as it is. Where the effect bends, after ten years, the
# forest is above the truth, and its interval just holds it: intervals do not know of bias.
