"""Imported before all else that computes: scikit-learn, and then the compiled modules.

Each may bring a runtime of OpenMP. Where the environment has runtimes bind threads to cores, the one that is loaded first leaves
few of them to those that come after it; dforest asks all runtimes for theirs (`dforest.core.cores`), and scikit-learn does not.
"""

import sklearn.utils  # noqa: F401

import dforest.core  # noqa: F401
