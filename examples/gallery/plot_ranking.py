"""
Ranking by boosted trees
========================

A search shows the ten documents that it believes to fit best. What counts is not how well the relevance of each document is
predicted, but which documents of a query are among the first ten. This example makes queries of 60 documents, with grades of
relevance from 0 to 4, and compares trees that are grown for the order of each query with a regression of the grades.
"""

import matplotlib.pyplot as plt
import numpy as np

from dforest import HistGradientBoostingRanker, HistGradientBoostingRegressor

rng = np.random.default_rng(0)
n_queries, size = 400, 60
qid = np.repeat(np.arange(n_queries), size)
X = rng.normal(size=(n_queries * size, 10))
relevance = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
relevance += rng.normal(size=len(X))
# Some queries are easy, and most of their documents fit; to others hardly any document does.
relevance += np.repeat(rng.normal(scale=2, size=n_queries), size)
grade = np.clip(np.floor(relevance), 0, 4)
train, test = qid < 200, qid >= 200
print(f"grades of all documents: {np.bincount(grade.astype(int)).tolist()}")

# %%
# ``score`` is NDCG, which is 1 if the documents of a query are in the order of their grades; ``k=10`` says that only the first
# ten count. The score of another model is computed by scikit-learn.
parameters = {"max_iter": 200, "learning_rate": 0.05, "max_leaf_nodes": 15, "random_state": 0}
given = {
    "X_val": X[test],
    "y_val": grade[test],
    "qid_val": qid[test],
}
curves = {}
for loss in ("lambdarank", "pairwise"):
    model = HistGradientBoostingRanker(
        loss, n_iter_no_change=200, use_best_model=False, **parameters
    )
    model.fit(X[train], grade[train], qid=qid[train], **given)
    curves[f'Ranker, loss="{loss}"'] = model.validation_score_[1:]
    print(f"{loss}: {model.score(X[test], grade[test], qid=qid[test], k=10):.4f}")

regressor = HistGradientBoostingRegressor(early_stopping=False, **parameters)
regressor.fit(X[train], grade[train])


def ndcg_at_10(predicted, grade):
    """The mean NDCG of queries, whose documents are rows of arrays of two dimensions."""
    gain, discount = 2**grade - 1, 1 / np.log2(2 + np.arange(10))
    order = np.argsort(-predicted, axis=1, kind="stable")[:, :10]
    best = np.sort(gain, axis=1)[:, ::-1][:, :10] @ discount
    found = np.take_along_axis(gain, order, axis=1) @ discount
    return np.where(best > 0, found / np.where(best > 0, best, 1), 1).mean()


of_queries = grade[test].reshape(-1, size)
curves["Regressor"] = [
    ndcg_at_10(predicted.reshape(-1, size), of_queries)
    for predicted in regressor.staged_predict(X[test])
]
print(f"regressor: {curves['Regressor'][-1]:.4f}")

# %%
# The curves show NDCG@10 of the 200 test queries after each iteration.
fig, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for (name, curve), color in zip(curves.items(), ["tab:blue", "tab:orange", "tab:gray"], strict=True):
    ax.plot(np.arange(1, len(curve) + 1), curve, color=color, label=name)
ax.set(xlabel="Iterations", ylabel="NDCG@10 on test queries", title="Trees for the order within queries, and for grades")
ax.legend(loc="lower right")
plt.show()

# %%
# Trees for NDCG put the best documents first: 0.807, against 0.773 of the regression, which spends its splits on telling easy
# queries from hard ones, and 0.762 of all pairs alike, most of which concern documents that nobody will see.
