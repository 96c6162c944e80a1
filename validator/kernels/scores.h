// Accumulating scores and selecting by them, two kernels of the catalogue (scores_arguments.h).
//
// Case: heads, lengths, and for top-k the budget.
//
// References: float64 sums, tolerance 1e-5; a stable sort, every index equal. Half of the scores of top-k are rounded
// so coarsely that most of them are tied.
#pragma once

#include <memory>

#include "validator/kernels/catalogue.h"
#include "validator/kernels/scores_arguments.h"

namespace kvplan::validator {

std::vector<Case> accumulate_cases(CaseSet set, const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_accumulate(const Case& of, Purpose purpose,
                                                 const MachineFacts& machine);
std::vector<Case> top_k_cases(CaseSet set, const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_top_k(const Case& of, Purpose purpose, const MachineFacts& machine);

}  // namespace kvplan::validator
