"""What forests and boosted trees share of growing: buffers, the heap of nodes to be split, the order of finished nodes."""
