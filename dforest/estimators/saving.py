"""What makes an estimator write a model file, by `dforest.interchange.storage`, which is imported when it is asked for."""

from importlib import import_module


class SavingPart:
    """What writes a fitted estimator to a file."""

    def save(self, path, *, serving=True):
        """Write the estimator to a file, from which `dforest.load` reads it again.

        The file is a safetensors file: a header of JSON, and arrays that any language can read. It holds parameters, classes,
        names and categories of columns, all trees, and whatever else `fit` set. It holds no code and no callbacks. An existing
        file is replaced once the whole new file is written; if writing fails, it stays as it was.

        Estimators of `dforest.spmd` and `dforest.dask` are written as the estimators of `dforest` that they stand for.

        Parameters
        ----------
        path : str or path-like
            The file to write; ``.safetensors`` is the usual suffix.
        serving : bool, default=True
            Whether to write the trees a second time, packed for prediction, with 8 or 16 bytes for each node. Processes that
            load such a file share the memory of these packed trees, and predict at once. If False, the file is several times
            smaller, and each process packs the trees itself.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If a parameter or an attribute can't be written, such as a device that is not given by name; the message names it.
            Also if `path` is a folder, a device or a pipe.
        OSError
            If the file can't be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import dforest
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = dforest.RandomForestClassifier(10, random_state=0).fit(X, y)
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "iris.safetensors")
        ...     forest.save(path)
        ...     dforest.load(path).n_estimators_
        10
        """
        import_module("dforest.interchange.storage.model").save(self, path, serving)
