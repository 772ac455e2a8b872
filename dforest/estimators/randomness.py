"""What `random_state` may be: what scikit-learn's may be, or a Generator of NumPy."""

import numpy as np
from sklearn import utils

ALLOWED = ["random_state", np.random.Generator]  # for scikit-learn's checks of parameters


def check_random_state(random_state):
    """A RandomState that draws what `random_state` asks for. One of a Generator draws the Generator's numbers, which goes on."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    return utils.check_random_state(random_state)


def go_on_as(random_state, other):
    """Have a RandomState or a Generator go on as another one of its kind does. Anything else is left alone."""
    if isinstance(random_state, np.random.RandomState):
        random_state.set_state(other.get_state())
    elif isinstance(random_state, np.random.Generator):
        random_state.bit_generator.state = other.bit_generator.state
