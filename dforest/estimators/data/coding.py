"""Columns as codes: by the engine, where it works, or by the processor; all ways give the same bits."""

from dforest.spmd.binning import code_columns_together


def coded_columns(
    engine, ranks, parts, max_codes, weight, n_threads, kinds, n_categories, *, takes_keys=False, counts_missing=True,
    max_stored=0.0,
):  # fmt: skip
    """The coded columns of training rows. A collective.

    Parameters
    ----------
    engine : Engine
    max_stored : float
        As of `dforest.core.coding.columns.code_columns`, for engines that take sparse columns.
    ranks, parts, max_codes, weight, n_threads, kinds, n_categories, takes_keys, counts_missing
        As of `dforest.spmd.binning.code_columns_together`.

    Returns
    -------
    list of CodedColumn
    """
    if ranks.size == 1 and len(parts) == 1:
        columns = engine.code_columns(parts[0], max_codes, weight, kinds, counts_missing)
        if columns is not None:
            return columns
    return code_columns_together(
        ranks, parts, max_codes, weight, n_threads, kinds, n_categories, takes_keys, row_major=ranks.size > 1,
        counts_missing=counts_missing, max_stored=max_stored if engine.takes_sparse else 0.0,
    )  # fmt: skip
