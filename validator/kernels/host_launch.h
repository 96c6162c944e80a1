// Host versions of the kernels: the same arguments and results, vectorised (GCC's and clang's target_clones choose
// AVX-512, AVX2 or neither when the program starts) and on several threads. Results do not depend on the number of
// threads.
#pragma once

#include "validator/kernels/launch.h"

namespace kvplan::validator {

void launch_on_host(const DecodeArguments& a, int threads);
void launch_on_host(const CombineArguments& a, int threads);
void launch_on_host(const AppendArguments& a, int threads);
void launch_on_host(const GatherArguments& a, int threads);
void launch_on_host(const SwapArguments& a, int threads);
void launch_on_host(const AccumulateArguments& a, int threads);
void launch_on_host(const TopKArguments& a, int threads);
void launch_on_host(const QuantiseArguments& a, int threads);

/// Implements Machine::make_up.
void make_up_on_host(void* to, const MadeUp& of, std::int64_t first, std::int64_t elements, int threads);

}  // namespace kvplan::validator
