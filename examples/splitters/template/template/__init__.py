"""The starting point of a splitter for dforest."""

from template.splitter import TemplateSplitter

__all__ = ["TemplateSplitter"]
