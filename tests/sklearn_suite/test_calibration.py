"""scikit-learn's tests of calibration; the forests and trees in it are dforest's: see `conftest.py`.

Tests with other libraries' arrays know no tree, and are left out.
"""

from sklearn.tests.test_calibration import *  # noqa: F403

del test_temperature_scaling_array_api_compliance  # noqa: F821
del test_temperature_scaling_array_api_with_str_y_estimator_not_prefit  # noqa: F821
