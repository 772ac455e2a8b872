"""Boosted trees: histograms of gradients, and trees grown best first by all threads together."""
