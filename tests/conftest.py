"""Settings of the whole test suite."""

import os

# Python started by a test imports the installed dforest too, never the source folder in the current directory.
os.environ["PYTHONSAFEPATH"] = "1"
