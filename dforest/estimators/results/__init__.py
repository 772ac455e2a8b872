"""What is computed from a grown forest: importances, out-of-bag estimates, intervals, neighbours, Shapley values."""
