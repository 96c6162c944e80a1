// The arguments of every kernel: plain structs of addresses and numbers, the same for all backends. A backend has one
// function for each of them (host_launch.h, cuda/cuda_launch.h); a missing function is a compile error.
#pragma once

#include <variant>

#include "validator/kernels/append_arguments.h"
#include "validator/kernels/decode_arguments.h"
#include "validator/kernels/gather_arguments.h"
#include "validator/kernels/quantise_arguments.h"
#include "validator/kernels/scores_arguments.h"
#include "validator/kernels/swap_arguments.h"

namespace kvplan::validator {

using Launch = std::variant<DecodeArguments, CombineArguments, AppendArguments, GatherArguments,
                            SwapArguments, AccumulateArguments, TopKArguments, QuantiseArguments>;

}  // namespace kvplan::validator
