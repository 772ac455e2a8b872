"""Fitted estimators as models of other libraries, and back, each compared with the original on rows that tell them apart.

A module for each library makes the model: estimators import it when it is asked for, by `dforest.estimators.conversion`. Modules
whose names begin with ``from_`` read models of a library, and `boosted` makes boosted estimators of what they read. `probes` has
the rows, and compares what both predict for them. What is made owns its arrays; nothing of the original is changed.
Numbers that underflow are rounded as any others, whatever `numpy.seterr` says of that.
"""
