"""C4.5's gain ratio and Tsallis entropy, as criteria for dforest."""

from gain_ratio.criterion import GainRatio, Tsallis
from gain_ratio.in_python import PythonGainRatio

__all__ = ["GainRatio", "PythonGainRatio", "Tsallis"]
