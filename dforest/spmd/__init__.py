"""Fits whose rows lie in several processes."""
