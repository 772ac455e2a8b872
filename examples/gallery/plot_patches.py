"""
Forests that look at patches of images
======================================

Neighbouring pixels of an image belong together, but a table of pixels does not say so. Trees with ``split_axis="oblique"``
compare sums of columns with a threshold, and ``projections`` says which sums they may try: here those of random rectangles of
the image, whose pixels are added or taken off. :doc:`/guide_oblique` compares such forests with others.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dforest import ExtraTreesClassifier
from dforest.splitter import patch_projections

X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
patches = patch_projections((8, 8), 2000, min_size=2, max_size=4, random_state=0)

# %%
# A patch is a row of a sparse matrix, with a weight of 1 or -1 for each of its pixels. Eight of the 2,000 are drawn on images of
# eight digits: pixels with a plus are added, those with a minus are taken off. A node compares this number of the image with its
# threshold.
fig, axes = plt.subplots(2, 4, figsize=(9, 4.9), layout="constrained")
for digit, ax in enumerate(axes.ravel()):
    image = X_train[np.flatnonzero(y_train == digit)[0]]
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmax=45)
    weights = patches[[digit]].toarray().reshape(8, 8)
    rows, columns = np.nonzero(weights)
    for row, column in zip(rows, columns, strict=True):
        sign = weights[row, column] > 0
        ax.text(column, row, "+" if sign else "−", color="darkred" if sign else "navy", ha="center", va="center", fontsize=13)
    corner, size = (columns.min() - 0.5, rows.min() - 0.5), (np.ptp(columns) + 1, np.ptp(rows) + 1)
    ax.add_patch(Rectangle(corner, *size, fill=False, edgecolor="tab:red", linewidth=2))
    ax.set_title(f"sum: {(weights.ravel() @ image):g}", fontsize=10)
    ax.set_axis_off()
plt.show()

# %%
# Three forests of extra trees: of single pixels, of random sums of pixels, and of patches. The pictures show how important each
# pixel is to them, the darker the more.
forests = {
    "single pixels": ExtraTreesClassifier(100, random_state=0),
    "random sums": ExtraTreesClassifier(100, split_axis="oblique", random_state=0),
    "patches": ExtraTreesClassifier(100, split_axis="oblique", projections=patches, random_state=0),
}
fig, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for (name, forest), ax in zip(forests.items(), axes, strict=True):
    accuracy = forest.fit(X_train, y_train).score(X_test, y_test)
    ax.imshow(forest.feature_importances_.reshape(8, 8), cmap="Purples", vmin=0)
    ax.set_title(f"{name}: accuracy {accuracy:.3f}", fontsize=11)
    ax.set_axis_off()
plt.show()

# %%
# In this division of the rows, the forest of patches tells most digits right; :doc:`/guide_oblique` has means over ten. Patches
# use nearly all of the middle of the image, as each of them looks at several pixels.
