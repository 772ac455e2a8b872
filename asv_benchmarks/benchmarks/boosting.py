"""Boosted trees, as users have them: time, memory and error."""

import numpy as np

import dforest

from . import data

# Small and bundled with scikit-learn, or large and made: one or several trees a round, few or many columns.
PROBLEMS = ["diabetes", "waves", "grid", "covers", "many_classes", "friedman", "wide"]
STOPPING = {"all rounds": {"early_stopping": False}, "scores": {"early_stopping": True, "n_iter_no_change": 1000}}
LOSSES = ["squared_error", "absolute_error", "huber", "log_cosh", "mape", "poisson", "gamma"]

ROWS = 48_000  # of made data, test rows among them


OTHERS = {"random_state": 0, "defaults": "scikit-learn"}  # all columns, and no regularisation, as before other defaults


def boosted_for(problem, **parameters):
    name = "HistGradientBoosting" + ("Classifier" if problem.task == "classification" else "Regressor")
    return getattr(dforest, name)(**{"max_iter": 20, **OTHERS, **parameters})


class BoostedFit:
    """Training on one thread, with all rows or with a tenth held out and all scored after each round."""

    params = (PROBLEMS, list(STOPPING))
    param_names = ("problem", "stopping")

    def setup(self, name, stopping):
        self.problem = data.load(name, ROWS)
        self.model = boosted_for(self.problem, **STOPPING[stopping])

    def time_fit(self, name, stopping):
        self.model.fit(self.problem.X, self.problem.y)

    def peakmem_fit(self, name, stopping):
        self.model.fit(self.problem.X, self.problem.y)

    def track_error(self, name, stopping):
        """1 - accuracy, or 1 - R2, on the test rows: like a time, better if lower."""
        model = self.model.set_params(max_iter=100).fit(self.problem.X, self.problem.y)
        return 1 - model.score(self.problem.X_test, self.problem.y_test)

    track_error.unit = "1 - score"


class BoostedDefaults:
    """Training with nothing set, on one thread: the number of iterations is searched, and then all rows are trained on."""

    params = (["diabetes", "digits", "waves"],)
    param_names = ("problem",)

    def setup(self, name):
        self.problem = data.load(name, ROWS // 8)
        self.model = boosted_for(self.problem, max_iter="auto", defaults="dforest")

    def time_fit(self, name):
        self.model.fit(self.problem.X, self.problem.y)

    def track_error(self, name):
        """1 - accuracy, or 1 - R2, on the test rows: like a time, better if lower."""
        model = self.model.fit(self.problem.X, self.problem.y)
        return 1 - model.score(self.problem.X_test, self.problem.y_test)

    track_error.unit = "1 - score"


class BoostedWays:
    """Training of 26 classes by trees for each and by one for all, and by rows drawn alike and by their gradients."""

    params = (["multinomial", "one_tree", "one_vs_rest"], ["all", "uniform", "mvs"])
    param_names = ("multi_class", "sampling")

    def setup(self, multi_class, sampling):
        random = np.random.default_rng(0)
        self.X = random.standard_normal((data.scaled(ROWS // 4), 20), dtype=np.float32)
        score = self.X @ random.standard_normal((20, 26)) + random.gumbel(size=(len(self.X), 26))
        self.y = score.argmax(axis=1)
        drawn = {} if sampling == "all" else {"subsample": 0.2, "sampling": sampling}
        self.model = dforest.HistGradientBoostingClassifier(
            multi_class=multi_class, max_iter=5, early_stopping=False, **OTHERS, **drawn
        )

    def time_fit(self, multi_class, sampling):
        self.model.fit(self.X, self.y)


class Dropouts:
    """Training of a hundred iterations, of which later ones drop none, as in ordinary boosting, or some of those before."""

    params = (["gbdt", "dart"], [1, 2])
    param_names = ("boosting", "n_jobs")

    def setup(self, boosting, n_jobs):
        problem = data.load("waves", ROWS // 4)
        self.X, self.y = problem.X, problem.y
        self.model = dforest.HistGradientBoostingClassifier(
            boosting=boosting, max_iter=100, early_stopping=False, n_jobs=n_jobs, random_state=0
        )

    def time_fit(self, boosting, n_jobs):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, boosting, n_jobs):
        self.model.fit(self.X, self.y)


class BoostedThreads:
    """Training and prediction on one thread and on two, which grow each tree together."""

    params = (["diabetes", "waves", "friedman"], [1, 2])
    param_names = ("problem", "n_jobs")

    def setup(self, name, n_jobs):
        self.problem = data.load(name, ROWS)
        self.model = boosted_for(self.problem, n_jobs=n_jobs).fit(self.problem.X, self.problem.y)
        self.row = self.problem.X_test[:1]
        self.model.predict(self.row)

    def time_fit(self, name, n_jobs):
        self.model.fit(self.problem.X, self.problem.y)

    def time_predict(self, name, n_jobs):
        self.model.predict(self.problem.X_test)

    def time_one_row(self, name, n_jobs):
        self.model.predict(self.row)


class BoostedLosses:
    """Training on one thread, by a loss of numbers, with and without weights."""

    params = (LOSSES, [False, True])
    param_names = ("loss", "weights")

    def setup(self, loss, weights):
        self.problem = data.load("friedman", ROWS)
        self.y = np.exp(self.problem.y / 10)
        self.weight = np.random.default_rng(0).exponential(size=len(self.y)) + 0.01 if weights else None
        self.model = boosted_for(self.problem, loss=loss)

    def time_fit(self, loss, weights):
        self.model.fit(self.problem.X, self.y, self.weight)


class BoostedRanking:
    """Training on one thread and two, for the order of 200 queries of 100 rows."""

    params = (["lambdarank", "pairwise"], [1, 2])
    param_names = ("loss", "n_jobs")

    def setup(self, loss, n_jobs):
        rng = np.random.default_rng(0)
        self.X, self.group = rng.normal(size=(20_000, 20)), [100] * 200
        self.y = np.clip(np.floor(self.X[:, 0] + np.abs(self.X[:, 1]) + rng.normal(size=20_000)), 0, 4)
        self.model = dforest.HistGradientBoostingRanker(loss, max_iter=20, early_stopping=False, n_jobs=n_jobs, **OTHERS)

    def time_fit(self, loss, n_jobs):
        self.model.fit(self.X, self.y, group=self.group)


class BoostedDistributions:
    """Training of the parameters of distributions, by one tree an iteration."""

    params = (["normal", "student", "gamma", "negative_binomial"],)
    param_names = ("loss",)

    def setup(self, loss):
        problem = data.load("friedman", ROWS // 2)
        y = problem.y - problem.y.min() + 1.0
        self.X, self.y = problem.X, np.round(y) if loss == "negative_binomial" else y
        self.model = dforest.HistGradientBoostingDistribution(loss, max_iter=20, early_stopping=False, **OTHERS)

    def time_fit(self, loss):
        self.model.fit(self.X, self.y)


class BoostedSparse:
    """Training on one thread and two, of texts and of categories that were made columns; of these, also as dense X."""

    params = (["text", "one_hot", "dense one_hot"], [1, 2])
    param_names = ("problem", "n_jobs")

    def setup(self, problem, n_jobs):
        X, self.y, _ = data.sparse(problem.removeprefix("dense "), {"text": 4_000}.get(problem, 20_000))
        self.X = X.toarray() if problem.startswith("dense") else X
        self.model = dforest.HistGradientBoostingClassifier(max_iter=20, early_stopping=False, n_jobs=n_jobs, **OTHERS)

    def time_fit(self, problem, n_jobs):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, problem, n_jobs):
        self.model.fit(self.X, self.y)


class BoostedClasses:
    """Training of as many trees an iteration as there are classes, on one thread and two."""

    params = ([3, 26, 100], [1, 2])
    param_names = ("classes", "n_jobs")

    def setup(self, classes, n_jobs):
        problem = data.load("friedman", ROWS // 3)
        n = len(problem.y)
        self.X, self.y = problem.X, np.argsort(np.argsort(problem.y)) * min(classes, n // 4) // n
        self.model = dforest.HistGradientBoostingClassifier(max_iter=5, early_stopping=False, n_jobs=n_jobs, **OTHERS)

    def time_fit(self, classes, n_jobs):
        self.model.fit(self.X, self.y)


class BoostedRounds:
    """Prediction by numbers of trees that fill lanes of 16, and one less, of rows that don't."""

    params = ([63, 64],)
    param_names = ("rounds",)

    def setup(self, rounds):
        problem = data.load("friedman", ROWS)
        self.model = boosted_for(problem, max_iter=rounds, n_jobs=1).fit(problem.X, problem.y)
        self.rows = problem.X_test[: len(problem.X_test) // 16 * 16 - 1]
        self.model.predict(self.rows)

    def time_predict(self, rounds):
        self.model.predict(self.rows)


class BoostedQuantiles:
    """Three quantiles of a target: one model of all, or a model for each; and conformal intervals."""

    params = (["diabetes", "friedman"], ["one model", "a model for each"])
    param_names = ("problem", "models")

    def setup(self, name, models):
        self.problem, levels = data.load(name, ROWS), [0.05, 0.5, 0.95]
        asked = [levels] if models == "one model" else levels
        self.models = [boosted_for(self.problem, loss="quantile", quantile=quantile) for quantile in asked]
        for model in self.models:
            model.fit(self.problem.X, self.problem.y)

    def time_fit(self, name, models):
        for model in self.models:
            model.fit(self.problem.X, self.problem.y)

    def time_intervals(self, name, models):
        model = self.models[0].conformalize(self.problem.X_test, self.problem.y_test)
        model.predict_interval(self.problem.X_test)
