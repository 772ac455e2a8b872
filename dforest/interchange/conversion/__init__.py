"""Fitted estimators as models of other libraries, each compared with the original on rows that tell them apart.

A module for each library makes the model: estimators import it when it is asked for, by `dforest.estimators.conversion`.
`probes` has the rows, and compares what both predict for them. Models own their arrays; nothing of an estimator is changed.
Numbers that underflow are rounded as any others, whatever `numpy.seterr` says of that.
"""
