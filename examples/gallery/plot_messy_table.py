"""
A messy table: dates, amounts, mistyped text
============================================

Tables from forms and spreadsheets hold dates as text, amounts with signs of a currency, and words with typing errors. skrub's
``TableVectorizer`` makes numbers and categories of such columns, as the first step of a pipeline. This example shows what a
forest gains by it, and what has to be done for amounts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skrub import TableVectorizer, ToCategorical

from dforest import RandomForestRegressor, check_table

JOBS = ["senior engineer", "junior engineer", "office manager", "sales manager"]


def make_table(random_state, n_rows=400):
    """Employees; their pay depends on all four columns."""
    random = np.random.default_rng(random_state)
    town = random.choice(["Aachen", "Bern", "Cadiz", "Delft"], n_rows)
    job = random.integers(len(JOBS), size=n_rows)
    days = random.integers(5000, size=n_rows)
    budget = random.uniform(100, 9000, n_rows)
    pay = 15 * job + 15 * (town == "Bern") - days / 100 + budget / 150
    pay += random.normal(0, 5, n_rows)

    def mistyped(text):
        place = random.integers(2 * len(text))  # half of them lack a letter
        return text[:place] + text[place + 1 :]

    since = pd.Timestamp("2010-01-01") + pd.to_timedelta(days, "D")
    table = {
        "town": town,
        "job": [mistyped(JOBS[k]) for k in job],
        "since": since.strftime("%d/%m/%Y"),
        "budget": [f"${amount:,.2f}" for amount in budget],
    }
    return pd.DataFrame(table), pay


X, y = make_table(0)
X.head()

# %%
# ``check_table`` says what a forest would refuse, and why.
for finding in check_table(X, y):
    print(f"{finding.column}: {finding.what}")

# %%
# Dates have the day first here. skrub finds that from the rows that it is fitted to, and keeps it, so a date is the same in a
# table and in a row alone. (``pandas.to_datetime`` would guess anew for each table: give it the ``format``.)
of_dates = TableVectorizer().fit(X[["since"]])
alone = [of_dates.transform(X[["since"]][i : i + 1]) for i in range(20)]
print(pd.concat(alone).equals(of_dates.transform(X[["since"]][:20])))

# %%
# Amounts are text for skrub, too, which would look at parts of words such as "$8,1". A function that makes numbers of them is
# a step of its own. ``ToCategorical`` leaves columns of few labels as categories, which dforest takes as they are, in place of
# one-hot columns.
def amounts(frame):
    return frame.apply(
        lambda column: pd.to_numeric(
            column.str.replace(r"[^0-9.-]", "", regex=True)
        )
    )


clean = FunctionTransformer(amounts)
forest = RandomForestRegressor(
    n_estimators=50, categorical_features="auto", random_state=0
)
models = {
    "Only the town": make_pipeline(
        make_column_transformer(("passthrough", ["town"])), forest
    ),
    "TableVectorizer": make_pipeline(TableVectorizer(), forest),
    "with categories and amounts": make_pipeline(
        TableVectorizer(
            low_cardinality=ToCategorical(),
            specific_transformers=[(clean, ["budget"])],
        ),
        forest,
    ),
}
scores = {name: [] for name in models}
for seed in range(3):
    X, y = make_table(seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
    for name, model in models.items():
        scores[name].append(model.fit(X_train, y_train).score(X_test, y_test))

# %%
fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for place, of_seeds in enumerate(scores.values()):
    ax.barh(place, np.mean(of_seeds), color="C0", alpha=0.4)
    ax.plot(of_seeds, np.full(len(of_seeds), place), "o", color="C0")
ax.set(yticks=range(len(scores)), yticklabels=scores, xlabel="R² on the test set")
ax.invert_yaxis()
plt.show()

# %%
# Each dot is another table. From dates and mistyped jobs, ``TableVectorizer`` makes columns that explain much of the pay; what
# it can't do is to read amounts, which as text are of no use.
for name, of_seeds in scores.items():
    print(f"{name}: R² {np.mean(of_seeds):.2f} ± {np.std(of_seeds):.2f}")
