"""A starting point for your own dforest splitter."""

from template.splitter import TemplateSplitter

__all__ = ["TemplateSplitter"]
