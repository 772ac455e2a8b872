"""The estimators, and what they make of what the user gave."""
