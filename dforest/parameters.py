"""What the docstrings of trees and forests share."""

CLASS_CRITERIA = """\
    criterion : {"gini", "entropy", "log_loss"} or Criterion, default="gini"
        The impurity; "log_loss" is another name of "entropy". Or an object, or a class, of
        `dforest.criterion`: one of your own."""

NUMBER_CRITERIA = """\
    criterion : {"squared_error", "absolute_error", "poisson"} or Criterion, default="squared_error"
        "squared_error": mean squared deviation from the mean, with the deprecated name "friedman_mse", as
        Friedman's improvement of a cut is the same number; "absolute_error": mean absolute deviation
        from the median, which leaves predict, on the processor only; "poisson": half the mean Poisson
        deviance, for targets from 0, where no cut leaves targets of 0 only on a side. Or an object, or
        a class, of `dforest.criterion`: one of your own."""

METHOD = """\
    method : {"hist", "dense"}, default="hist"
        "hist" looks for splits between the bins that a feature's values are sorted into; "dense"
        between all of its values: exact, and slower for best splits; random splits have thresholds
        anywhere between a node's smallest and largest value, at about the price of bins. Rules about
        fewer rows than a bin holds, 0.4 % of them by default, escape "hist": choose "dense", or more
        bins, where rare cases count.
    max_bins : int, default=256
        Method "hist": most bins of a feature, one for missing values included.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns whose values are labels without an order, tested by sets of labels ("categories"): a
        mask, numbers or names of columns; None: none. "from_dtype": those of a categorical type of
        pandas, polars or pyarrow, but for ordered ones that `ordinal_features` takes. Labels are
        strings, numbers or booleans; 1 and 1.0 are the same.

        A best split of two classes, or by squared error, is the exact best of all ways to part the
        categories in two. For more classes, categories are ordered by the share of the node's
        largest class and parted in that order, a heuristic. Missing values, labels that were not in
        training, and categories that a node has not seen go to the side of missing values. Most
        categories of a column: 256 for method "hist", 65,535 for "dense".
    ordinal_features : "from_dtype", array-like or None, default="from_dtype"
        Columns whose values have an order but no distances, given likewise. "from_dtype": those of
        an ordered categorical type (pandas' ordered categories, polars' Enum, pyarrow's ordered
        dictionaries) that `categorical_features` does not name; their order is the declared one.
        Thresholds are values that occur, never amid two. Text of a type without an order is refused;
        a level that the training type did not declare is taken as missing.
    categorical_split : {"subset", "one_hot"}, default="subset"
        How a node parts categories: "subset": some of them from the others; "one_hot": one of them
        from the others.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        What predictions may do as a feature rises, all others fixed: 1, only rise; -1, only fall; 0,
        either. A dict maps names of columns. For classification, of two classes, it is the
        probability of the second one. Not for categorical features. No cut, of any feature, leads out
        of the bounds that constrained ones above it set.
    device : str or None, default=None
        Where trees are grown and rows go down them. "cpu": the processor. "gpu", "sycl" (SYCL's
        default device) or a filter string such as "level_zero:gpu:1": a SYCL device, with the same
        bits; `dforest.devices` lists what there is. None: where X lies, if that is an array on a
        device; else the device of ``dforest.config_context(queue=...)``; else the processor. Trees
        are grown there by method "hist", or by random splits; importances by impurity and pruning run
        on the processor."""

FITTED = """\
    is_categorical_, is_ordinal_ : ndarray of shape (n_features,), dtype bool
    categories_ : list of length n_features
        ndarray of a column's labels, whose places 0, 1, ... trees test: of a categorical column those
        in training, sorted; of an ordinal one that holds no numbers the declared levels. None for
        other columns.
    fit_report_ : FitReport
        Where the last `fit` grew trees, and what that took: see `dforest.fit_report.FitReport`."""
