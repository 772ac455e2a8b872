"""From values to codes: a column's values are sorted or counted, given codes by a rule, and written as these codes.

There are three ways to the codes of numbers, which differ in what is sorted, and share all else: the rule by which values are
allocated to bins (rules/bins.h), the edges between bins, and what describes a column (`dforest.core.coding.coded_columns`).

- Rows of one matrix are sorted by value, and their codes written in that order (`dforest.core.coding.column_sort`).
- Of sparse columns only the stored values are sorted, for many columns at a time (`dforest.core.coding.sparse_columns`).
- Rows of several matrices, or of several ranks, are not sorted: values alone are (`dforest.core.coding.sorted_keys`), the ranks
  agree upon the bins (`dforest.core.coding.quantile_sketch`), and each value is searched among the bins
  (`dforest.core.coding.code_rule`).

Keys and categories need no sorting: each value says its code (`dforest.core.coding.code_rule`).
"""

from dforest.core.coding.columns import code_columns

__all__ = ["code_columns"]
