"""The estimators, and what they make of what the user gave."""

import dforest.built  # noqa: F401
