"""Forests as flat arrays: how they are put together, checked, pruned, and kept in files."""
