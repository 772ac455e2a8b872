"""
Several outputs: the missing half of an image
=============================================

One forest can predict a target of several columns: each tree serves all columns, and the prediction for a row is a weighted
mean of whole training targets. This example predicts the lower half of a small image, 128 pixels at once, from the 128 pixels
of its upper half. Each image shows two blurred bars with random positions, slopes and widths.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import ExtraTreesRegressor, RandomForestRegressor

SIZE = 16
random = np.random.default_rng(0)


def make_images(n_images):
    """Images of two blurred bars that run from top to bottom.

    An ndarray of shape (n_images, SIZE, SIZE).
    """
    y, x = np.mgrid[:SIZE, :SIZE] / (SIZE - 1)
    images = np.zeros((n_images, SIZE, SIZE))
    for _ in range(2):
        centre = random.uniform(0.1, 0.9, (n_images, 1, 1))
        slope = random.uniform(-0.8, 0.8, (n_images, 1, 1))
        width = random.uniform(0.08, 0.15, (n_images, 1, 1))
        images += np.exp(-(((x - centre - slope * (y - 0.5)) / width) ** 2) / 2)
    return images


images = make_images(1500).reshape(1500, -1)
upper, lower = np.split(images, 2, axis=1)
X_train, X_test = upper[:-200], upper[-200:]
y_train, y_test = lower[:-200], lower[-200:]

# %%
# Extra trees draw their thresholds at random. The mean of all training images is shown for comparison: it is the prediction of
# a model that has learned nothing from the upper half.
parameters = {"n_estimators": 30, "max_features": 10, "random_state": 0}
models = {
    "Random forest": RandomForestRegressor(**parameters),
    "Extra trees": ExtraTreesRegressor(**parameters),
}
predicted = {
    name: model.fit(X_train, y_train).predict(X_test) for name, model in models.items()
}
for name, halves in {"Mean image": y_train.mean(axis=0), **predicted}.items():
    error = np.sqrt(np.mean((halves - y_test) ** 2))
    print(f"{name}: root mean squared error {error:.3f}")

# %%
# Everything above the red line was given to the models.
fig, axes = plt.subplots(3, 6, figsize=(7, 3.9), layout="constrained")
shown = {"Truth": y_test, **predicted}
for row, (name, halves) in zip(axes, shown.items(), strict=True):
    for ax, given, half in zip(row, X_test, halves, strict=False):
        image = np.concatenate([given, half]).reshape(SIZE, SIZE)
        ax.imshow(image, cmap="gray", vmin=0, vmax=1.5)
        ax.axhline(SIZE / 2 - 0.5, color="tab:red", linewidth=1)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
plt.show()

# %%
# Both models continue the bars into the lower half, most often with the right slope, although nothing tells them which pixels
# are neighbours. Their errors are about half as large as the error of the mean image. Their predictions are means of several
# training images, and are therefore blurred where these images differ: the farther from the line, the more. In the fourth
# image, the models cannot tell where the two bars lead, and leave a grey patch.
