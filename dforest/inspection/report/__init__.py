"""Reports on fitted forests and boosted trees: one HTML page that needs no network, and displays in scikit-learn's manner.

What is computed comes first (`models`, `measure`, `curve`, `facts`, `rows`, `assessment`, `proximity`, `digest`), then charts
(`chart`, `pictures`, `tree`), then sentences and tables (`text`, `markup`, `sections`) and the page (`page`, `style`). Nothing
here changes an estimator.

Only `displays` draws with matplotlib, of the extra ``plot``, which is imported when it draws, never before.
"""
