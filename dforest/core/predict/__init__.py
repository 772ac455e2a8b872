"""Packed trees, and rows that go down them: prediction, and what is estimated out of bag."""
