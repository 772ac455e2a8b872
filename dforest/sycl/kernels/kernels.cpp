// All kernels.
#include "train.hpp"
