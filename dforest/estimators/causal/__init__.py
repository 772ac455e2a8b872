"""Causal forests: effects of treatments, and what is estimated of them."""
