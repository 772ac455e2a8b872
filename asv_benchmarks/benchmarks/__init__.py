"""Benchmarks for asv: how long whole forests take, what they need and miss, and the pieces of that time."""
