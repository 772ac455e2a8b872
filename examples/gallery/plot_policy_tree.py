"""
A rule that fits on a slide
===========================

A causal forest knows an effect for everybody; whoever decides needs a rule that can be told. A policy tree is the best rule of a
few questions, given what each action costs.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import CausalForest, PolicyTree

# %%
# A drug lowers blood pressure of people over fifty whose kidneys work, and does harm to others. It was given more often to those
# with high pressure. The effect is smooth, so no rule of two questions is exactly right.
random = np.random.default_rng(1)
n = 4000
age, kidneys, pressure = random.uniform([20, 0, 110], [90, 1, 190], size=(n, 3)).T


def benefit(age, kidneys):
    return (
        16
        / (1 + np.exp(-(age - 50) / 4))
        / (1 + np.exp(-(kidneys - 0.4) / 0.05))
        - 4
    )


is_treated = random.random(n) < 1 / (1 + np.exp(-(pressure - 150) / 15))
fall = (
    0.2 * (pressure - 110)
    + benefit(age, kidneys) * is_treated
    + random.normal(scale=6, size=n)
)
X = np.column_stack([age, kidneys, pressure])

# %%
# The forest takes off what pressure says of treatment and outcome. Its doubly robust scores stand for what the drug would do to
# each person, with noise that the tree averages out. Half of the people are kept for judging the rule.
learns = np.arange(n) % 2 == 0
forest = CausalForest(1000, random_state=0)
forest.fit(X, fall, treatment=is_treated)
gain = forest.doubly_robust_scores()
rewards = np.column_stack([np.zeros(n), gain])
rule = PolicyTree(max_depth=2, min_samples_leaf=50)
rule.fit(X[learns], rewards[learns])
print(
    rule.export_text(
        feature_names=["age", "kidneys", "pressure"],
        action_names=["leave", "treat"],
    )
)

# %%
# What rules bring to a person of the other half, on average. Scores of these people were found by trees that had not seen them,
# though by the same forest: with few rows, judge by a forest of their own.
others = ~learns
chosen = rule.predict(X[others]) == 1
for name, treats in {
    "everybody": np.ones(others.sum(), bool),
    "those over 50": X[others, 0] > 50,
    "the policy tree": chosen,
    "the truth": benefit(age, kidneys)[others] > 0,
}.items():
    scores = gain[others] * treats
    error = scores.std() / np.sqrt(len(scores))
    print(f"treat {name:16s} {scores.mean():5.2f} ± {error:.2f}")

# %%
# The rule beside the true effect: it cuts where effects change their sign, as far as straight cuts can. That it asks the young
# for their pressure is due to noise, and concerns few.
fig, ax = plt.subplots(layout="constrained")
first, second = np.meshgrid(np.linspace(20, 90, 141), np.linspace(0, 1, 101))
true = ax.contourf(
    first,
    second,
    benefit(first, second),
    levels=np.arange(-12, 13, 2),
    cmap="RdBu",
)
fig.colorbar(true, label="True effect (mmHg)")
points = np.column_stack([first.ravel(), second.ravel(), np.full(first.size, 150)])
treats = rule.predict(points).reshape(first.shape)
ax.contour(first, second, treats, levels=[0.5], colors="black", linewidths=2)
ax.text(70, 0.7, "treat", ha="center", color="white")
ax.text(35, 0.3, "leave", ha="center", color="white")
ax.set(xlabel="Age", ylabel="Function of the kidneys")
plt.show()

# %%
# With ``costs``, what an action costs counts too: if the drug has to lower pressure by six units to be worth its price, fewer
# people get it.
dear = PolicyTree(max_depth=2, min_samples_leaf=50, costs=[0, 6])
dear.fit(X[learns], rewards[learns])
print(f"treated for nothing  {np.mean(rule.predict(X) == 1):.0%}")
print(f"treated for 6 units  {np.mean(dear.predict(X) == 1):.0%}")
