"""Boosted trees between the estimators and the compiled booster: losses, and the loop over rounds."""
