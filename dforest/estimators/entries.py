"""What a table of parameters has: an *entry*, which is a `Parameter`, and *groups*, the titles under which docstrings and the API
reference list entries.
"""

from dataclasses import dataclass

from dforest.estimators.families import IN_TABLE

# The groups of parameters.
ENSEMBLE = "Ensemble and its output"
SPLITS = "Choice of splits"
SHAPE = "Size and shape of trees"
ROWS = "Training rows and their weights"
COLUMNS = "Kinds of columns and constraints"
ESTIMATES = "Estimates made in training"
COMPUTATION = "Seed and computation"
OTHERS = "Other parameters"


@dataclass(frozen=True)
class Parameter:
    """A parameter of the constructors of some estimators.

    Parameters
    ----------
    name : str
    type : str
        What values are allowed, as docstrings say it, without the default.
    default : object
        None, or a number, bool or str: nothing that can change.
    constraint : list
        What values are allowed, as scikit-learn checks it before a fit.
    doc : str
        Whole sentences. The names in `WORDS`, between braces, stand for other words in each family.
    of : frozenset of str
        The families whose estimators have the parameter.
    by_position : bool
        Whether it may be given by position; all others are given by name.
    group : str
        The title under which it is listed.
    """

    name: str
    type: str
    default: object
    constraint: list
    doc: str
    of: frozenset = IN_TABLE
    by_position: bool = False
    group: str = OTHERS
