"""Reports on fitted forests: one HTML page that needs no network, and displays in scikit-learn's manner.

What is computed comes first (`curve`, `facts`, `rows`, `assessment`, `proximity`, `digest`), then pictures (`svg`, `pictures`,
`displays`), then sentences and tables (`markup`, `sections`) and the page (`page`, `style`). Nothing here changes a forest.

matplotlib, of the extra ``plot``, is imported when something is drawn, never before.
"""
