"""How a tree is grown: its records, the nodes that may still be split, and threads that share the work."""
