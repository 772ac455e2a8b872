"""How a node is divided: splitters, criteria, the cuts of a feature and the best of them."""
