"""Benchmarks for asv: how long whole forests take, what they need and miss, and the pieces of that time."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))  # what benchmarks of devices share with their tests: `helpers`
