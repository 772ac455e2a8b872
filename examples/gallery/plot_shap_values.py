"""
Shapley values of predictions
=============================

Importances tell which features a forest uses overall; Shapley values tell it for each row. ``shap_values`` splits each
prediction into the contributions of the features, in the unit of the target, so that the base value and the contributions add
up to the prediction. This example draws them for a forest that predicts the progression of diabetes, first for all patients and
then for a single patient.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from dforest import RandomForestRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(n_estimators=100, min_samples_leaf=5, random_state=0)
forest.fit(X, y)
shapley = forest.shap_values(X)
print(f"The parts add up to the predictions, to {shapley.additivity_error:.0e}")

# %%
# Each row has a dot for each feature. The place of the dot shows how much the feature raises or lowers the prediction, and its
# colour shows whether the feature's value is low or high among all rows. The features are ordered by the mean absolute value of
# their contributions.
order = np.abs(shapley.values).mean(axis=0).argsort()
random = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
for height, feature in enumerate(order):
    values = shapley.values[:, feature]
    counts, edges = np.histogram(values, bins=60)
    # Dots are spread where there are many.
    crowd = counts[np.digitize(values, edges[1:-1])] / counts.max()
    heights = height + 0.35 * crowd * random.uniform(-1, 1, len(values))
    low, high = X.iloc[:, feature].quantile([0.05, 0.95])
    colors = (X.iloc[:, feature] - low) / (high - low)
    dots = ax.scatter(values, heights, c=colors, cmap="coolwarm", vmin=0, vmax=1, s=7)
ax.axvline(0, color="gray", linewidth=0.8)
ax.set(
    yticks=range(len(order)),
    yticklabels=X.columns[order],
    xlabel="What a feature adds to the prediction",
    title="Progression of diabetes, 442 patients",
)
bar = fig.colorbar(dots, ticks=[0, 1], label="Value of the feature", pad=0.02)
bar.ax.set_yticklabels(["low", "high"])
plt.show()

# %%
# For patients with a high body mass index (bmi) or a high s5, a measure of triglycerides in the blood, the forest predicts a
# faster progression, by up to 90 units for the bmi and 60 for s5; low values lower the prediction by less. For s3, the "good"
# cholesterol, the colours are reversed: high values lower the prediction. Dots of one colour that are far apart, as for age,
# show that the effect of a feature depends on other features.

# %%
# For a single patient, the bars lead from the prediction that is expected for any patient to the prediction for this one.
patient = int(forest.predict(X).argmax())
parts = shapley.values[patient]
order = np.abs(parts).argsort()[::-1]
ends = shapley.base_values + np.cumsum(parts[order])
fig, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.barh(
    range(len(order)),
    parts[order],
    left=ends - parts[order],
    color=np.where(parts[order] > 0, "tab:red", "tab:blue"),
)
ax.axvline(
    shapley.base_values,
    color="gray",
    linestyle=":",
    label=f"expected of any patient: {shapley.base_values:.0f}",
)
ax.axvline(
    ends[-1],
    color="black",
    linestyle="--",
    label=f"predicted for this one: {ends[-1]:.0f}",
)
ax.set(
    yticks=range(len(order)),
    yticklabels=[f"{X.columns[i]} = {X.iloc[patient, i]:g}" for i in order],
    xlabel="Progression of diabetes",
    xlim=(shapley.base_values - 8, ends.max() + 8),
    title="The patient with the highest prediction",
)
ax.invert_yaxis()
ax.legend(loc="lower left")
plt.show()

# %%
# The body mass index alone lifts this patient's prediction from the expected 152 by more than 60 units, and s5 and the blood
# pressure (bp) account for most of the rest. All other features add little, and none of them lowers the prediction by more than
# a few units.
