"""Model files: fitted estimators, written and read without running any code of the file.

Words: a *container* is the file, which has a header and arrays (`container`). What an estimator is made of becomes *values*,
texts that the header has, and arrays (`values`); `labels` has those of categories. `model` puts both together.
"""
