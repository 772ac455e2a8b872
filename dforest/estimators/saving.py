"""What makes an estimator write a model file, by `dforest.storage`, which is imported when it is asked for."""

from importlib import import_module


class SavingPart:
    """What writes a fitted estimator to a file."""

    def save(self, path, *, serving=True):
        """Write the estimator to a file, from which `dforest.load` reads it again.

        The file is a safetensors file: a header of JSON, and arrays that any language can read. It holds parameters, classes,
        names and categories of columns, all trees, and whatever else `fit` set; no code. Callbacks are not part of it. What is
        at the path is replaced once the whole file is written; if that fails, it stays as it was.

        Estimators of `dforest.spmd` and `dforest.dask` are written as those of `dforest` that they stand for.

        Parameters
        ----------
        path : str or path-like
            Where to; ``.safetensors`` is the usual suffix.
        serving : bool, default=True
            Whether to write the trees a second time, packed for prediction: 8 or 16 bytes for each node. Processes that load
            such a file predict from pages that all of them share, and pack nothing. Without, the file is several times
            smaller.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If a parameter or an attribute can't be written, a device say that is no name; the message names it.
        OSError
            If the file can't be written.

        Examples
        --------
        See `dforest.load`.
        """
        import_module("dforest.storage.model").save(self, path, serving)
