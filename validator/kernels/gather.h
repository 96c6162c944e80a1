// Compaction as a kernel of the catalogue (gather_arguments.h).
//
// Case: stored, heads, head_size, page_tokens, lengths, kept_of_1000, shuffled.
//
// Reference: the kept tokens of the case in its own token order. Every byte of the new pools must be equal, with poison
// where nothing is written.
#pragma once

#include <memory>

#include "validator/kernels/catalogue.h"
#include "validator/kernels/decode_cache.h"
#include "validator/kernels/gather_arguments.h"

namespace kvplan::validator {

std::vector<Case> gather_cases(CaseSet set, const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_gather(const Case& of, Purpose purpose, const MachineFacts& machine);

}  // namespace kvplan::validator
