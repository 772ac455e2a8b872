"""dforest's estimators in place of those of scikit-learn and scikit-survival, in scripts that import these.

While a patch is on, public names such as ``sklearn.ensemble.RandomForestClassifier`` mean subclasses of dforest's classes, which
are made here, and whose defaults are those of the library that they stand in for: forests and trees try every threshold, and
boosted trees grow as many iterations as they are told. Nothing falls back: what dforest refuses is refused, with its reason.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass

from dforest.estimators.declaration import has_parameters
from dforest.public import ESTIMATORS, HOMES, public

_MODULES = "sklearn.ensemble", "sklearn.tree", "sksurv.ensemble", "sksurv.tree"
_DEFAULTS = {"method": "dense", "defaults": "scikit-learn"}
_MADE_OF_OTHERS = "it is made of other estimators, and takes dforest's"
_REASONS = {
    "BaseDecisionTree": "it is what scikit-learn's trees share",
    "BaseEnsemble": "it is what scikit-learn's ensembles share",
    "GradientBoostingClassifier": "dforest has HistGradientBoostingClassifier, whose trees are others",
    "GradientBoostingRegressor": "dforest has HistGradientBoostingRegressor, whose trees are others",
    "ComponentwiseGradientBoostingSurvivalAnalysis": "dforest boosts no survival times",
    "GradientBoostingSurvivalAnalysis": "dforest boosts no survival times",
}
_DOC = """dforest's {name}, in place of the one of {library}, whose defaults it has.

Parameters
----------
{{parameters}}

Attributes
----------
{{attributes}}
"""


def __getattr__(name):  # the subclasses, by which pickles find them too
    if name not in ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    own = public(name)
    library = "scikit-survival" if "Survival" in name else "scikit-learn"
    told = {"__module__": __name__, "__qualname__": name, "__doc__": _DOC.format(name=name, library=library)}
    family, table = own._declared
    defaults = own._defaults | {key: value for key, value in _DEFAULTS.items() if key in own._defaults}
    return globals().setdefault(name, has_parameters(family, table=table, **defaults)(type(name, (own,), told)))


class Patch:
    """What `patch_sklearn` has replaced. As a context manager, it puts the originals back at the end of its block.

    Attributes
    ----------
    taken : list of str
        The names that mean dforest's classes and functions now, with their modules.
    left : dict of str to str
        The names in the same modules that mean what they did, with the reason.
    before : list of str
        Where originals were imported before, which stay what they are: names with their modules.
    """

    def __init__(self):
        self.taken, self.left, self.before, self._originals = [], {}, [], []
        for name in _MODULES:
            if find_spec(name.partition(".")[0]) is not None:
                self._replace(import_module(name))

    def _replace(self, module):
        for name in module.__all__:
            original, full = getattr(module, name), f"{module.__name__}.{name}"
            if name not in HOMES:
                self.left[full] = _REASONS.get(name, _MADE_OF_OTHERS if isclass(original) else "dforest has no such function")
                continue
            setattr(module, name, getattr(sys.modules[__name__], name) if name in ESTIMATORS else public(name))
            self._originals.append((module, name, original))
            self.taken.append(full)
            self.before += _imported_before(original, name)

    def undo(self):
        """Put the originals back."""
        while self._originals:
            setattr(*self._originals.pop())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        unpatch_sklearn()

    def __str__(self):
        lines = ["dforest takes the place of:", *(f"  {name}" for name in self.taken)]
        if self.before:
            lines += ["These were imported before, and stay:", *(f"  {name}" for name in self.before)]
        return "\n".join([*lines, "These are left:", *(f"  {name}: {reason}" for name, reason in self.left.items())])


_patch = None  # the one that is on


def patch_sklearn(*, verbose=False):
    """Have the names of scikit-learn's trees and forests, and of scikit-survival's, mean dforest's classes.

    Call it before your script imports the names: ``from sklearn.ensemble import RandomForestClassifier`` gives dforest's class
    afterwards. The classes have the other library's defaults: ``method="dense"``, so that every threshold is tried, and
    ``defaults="scikit-learn"`` for boosted trees. What dforest refuses raises an error with its reason; nothing falls back to
    the other library. Names that were imported before, and what scikit-learn itself imports, such as the trees of
    `AdaBoostClassifier`, stay what they are. ``python -m dforest script.py`` runs a whole script like this.

    Parameters
    ----------
    verbose : bool, default=False
        Whether to print what was taken, and what was left, with the reason.

    Returns
    -------
    Patch
        What was replaced. ``with dforest.patch_sklearn():`` puts the originals back at the end of the block.

    See Also
    --------
    unpatch_sklearn : Puts the originals back.

    Examples
    --------
    >>> import dforest
    >>> with dforest.patch_sklearn() as patch:
    ...     from sklearn.ensemble import RandomForestClassifier
    >>> issubclass(RandomForestClassifier, dforest.RandomForestClassifier), RandomForestClassifier().method
    (True, 'dense')
    >>> patch.left["sklearn.ensemble.GradientBoostingClassifier"]
    'dforest has HistGradientBoostingClassifier, whose trees are others'
    """
    global _patch
    if _patch is None:
        _patch = Patch()
    if verbose:
        print(_patch, file=sys.stderr)
    return _patch


def unpatch_sklearn():
    """Put back what `patch_sklearn` has replaced. Estimators that were made meanwhile stay dforest's.

    Examples
    --------
    >>> import dforest
    >>> patch = dforest.patch_sklearn()
    >>> dforest.unpatch_sklearn()
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> RandomForestClassifier.__module__
    'sklearn.ensemble._forest'
    """
    global _patch
    if _patch is not None:
        _patch.undo()
        _patch = None


def _imported_before(original, name):
    """Where modules that are neither scikit-learn's, scikit-survival's nor dforest's have a class or function by its name."""
    ours = ("sklearn", "sksurv", "dforest")
    return [
        f"{module}.{name}"
        for module, loaded in list(sys.modules.items())
        if module.partition(".")[0] not in ours and getattr(loaded, "__dict__", {}).get(name) is original
    ]
