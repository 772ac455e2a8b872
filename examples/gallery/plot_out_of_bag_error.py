"""
Out-of-bag error as trees are added
===================================

The bootstrap of each tree leaves out about 37 % of the training rows. Predicting each row with the trees that never drew it
gives an estimate of the error without a test set, and following this estimate as trees are added shows whether more trees would
help. This example compares the out-of-bag error with the error on a test set that the forest has not seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dforest import OutOfBagCurveDisplay, RandomForestClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.4, stratify=y, random_state=0
)
forest = RandomForestClassifier(n_estimators=200, oob_score=True, random_state=0)
forest.fit(X_train, y_train)

# %%
# ``oob_curve_`` contains the out-of-bag errors of the first 1, 2, ... trees. The errors on the test set have to be computed:
# the forest predicts the mean of the trees' probabilities, so a cumulative sum over the trees gives the votes of all smaller
# forests.
votes = np.cumsum([tree.predict_proba(X_test) for tree in forest.estimators_], axis=0)
test_curve = (forest.classes_[votes.argmax(axis=2)] != y_test).mean(axis=1)

# %%
# :class:`~dforest.OutOfBagCurveDisplay` draws the out-of-bag error and, as a dotted line, the curve that it is expected to
# follow up to twice the number of trees.
fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
display = OutOfBagCurveDisplay.from_estimator(forest, name="Out of bag", ax=ax)
ax.plot(
    np.arange(1, len(test_curve) + 1), test_curve, color="tab:orange", label="Test set"
)
ax.set(
    ylabel="Misclassification rate",
    ylim=(0, 0.15),
    title="Both errors level off at about the same number of trees",
)
ax.legend()
plt.show()

# %%
# The first out-of-bag errors are much higher than those on the test set, because each row is predicted by the few trees that
# left it out, about a third of all trees. From about 60 trees on, the curves agree, and the dotted line shows that another 200
# trees would gain next to nothing. No test set was needed to find this out.
print(
    f"200 trees: {forest.oob_error_:.3f} out of bag, "
    f"{test_curve[-1]:.3f} on the test set"
)
expected = display.trend.at(400)
print(f"400 trees are expected to err on {expected:.3f} of the rows out of bag")
