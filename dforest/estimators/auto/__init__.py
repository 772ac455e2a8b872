"""Blends: forests and boosted trees whose weights out-of-sample predictions choose."""
