// All kernels, to be built as one bundle. Their entries stand in the headers.
#include "group.hpp"

#include "boost.hpp"
#include "boost_cuts.hpp"
#include "boost_leaves.hpp"
#include "coding.hpp"
#include "effects.hpp"
#include "out_of_bag.hpp"
#include "predict.hpp"
#include "train.hpp"
