// Appending to a paged cache as a kernel of the catalogue (append_arguments.h).
//
// Case: stored, heads, head_size, page_tokens, lengths including the new tokens, budget (new tokens of each sequence,
// at least 1), shuffled, outliers. One of seven sequences is padding, the last.
//
// Reference: each number by numbers.h, one by one; every byte of both pools must be equal.
#pragma once

#include <memory>

#include "validator/kernels/append_arguments.h"
#include "validator/kernels/catalogue.h"
#include "validator/kernels/decode_cache.h"

namespace kvplan::validator {

std::vector<Case> append_cases(CaseSet set, const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_append(const Case& of, Purpose purpose, const MachineFacts& machine);

}  // namespace kvplan::validator
