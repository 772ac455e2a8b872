"""What leaves of boosted trees are: one number each, linear functions of a few features, or what rows held out say is better."""

from dforest.estimators.boosting.search import search_iterations

CHOICES = "constant", "linear"  # of equally good ones the first is taken


def check_linear_leaves(estimator, sample, grown):
    """Raise ValueError if the rows, or the trees that there are, do not go with `leaf_model`.

    Parameters
    ----------
    estimator : BoostingEstimator
    sample : Sample
        All rows of X.
    grown : Forest or None
        The trees that there are.
    """
    asked = estimator.leaf_model
    if asked != "constant":
        sample.check_dense(f'leaf_model="{asked}"', 'leaf_model="constant"')
    if grown is None:
        return
    n_before = getattr(grown.objective, "n_leaf_features", 0)
    n_features = estimator.max_leaf_features if asked == "linear" else 0
    if n_features != n_before:
        said, before = (
            f'leaf_model="linear" and max_leaf_features={n}' if n else 'leaf_model="constant"' for n in (n_features, n_before)
        )
        raise ValueError(f"{said}, but warm_start=True goes on with trees of {before}")


def choose_leaf_model(estimator, sample, divisions, given, seeds, engine, ranks):
    """Set `leaf_model_` to what scores better on the rows that are held out, and `leaf_model_scores_`. A collective.

    Parameters
    ----------
    estimator : BoostingEstimator
        Whose `leaf_model` is "auto".
    sample, divisions, seeds, engine, ranks
        As of `search_iterations`.
    given : Sample or None
        The rows to be scored that `fit` is given.

    Returns
    -------
    tuple
        What `search_iterations` returns for the one that is chosen.

    Raises
    ------
    ValueError
        If no rows are held out.
    """
    if given is None and divisions[0][0].held_out is None:
        raise ValueError(
            'leaf_model="auto", but no rows are held out to choose by; allowed are "linear", "constant", and "auto" with '
            "early_stopping=True and a validation_fraction, or with X_val"
        )
    found = {}
    for name in CHOICES:
        estimator.leaf_model_ = name
        found[name] = search_iterations(estimator, sample, divisions, seeds, engine, ranks)
    scores = {name: monitor.best()[1] for name, (_, monitor, _) in found.items()}
    estimator.leaf_model_ = max(CHOICES, key=scores.get)
    estimator.leaf_model_scores_ = scores
    return found[estimator.leaf_model_]
