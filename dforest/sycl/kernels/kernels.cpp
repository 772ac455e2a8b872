// All kernels, to be built as one bundle. Their entries stand in the headers.
#include "group.hpp"

#include "predict.hpp"
#include "train.hpp"
