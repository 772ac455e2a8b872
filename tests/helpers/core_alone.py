"""Import this first, and what it is then imported of dforest's core comes alone, without scikit-learn, in a tenth of the time."""

import importlib.util
import sys

sys.modules["dforest"] = importlib.util.module_from_spec(importlib.util.find_spec("dforest"))
