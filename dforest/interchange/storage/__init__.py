"""Model files: fitted estimators, written and read without running any code of the file.

A *container* is the file, which has a header and arrays (`container`). What an estimator is made of becomes *values*, texts in
the header, and arrays (`values`). `labels` makes values of the labels of categories. `model` puts values and container together.
"""
