// Swapping as a kernel of the catalogue (swap_arguments.h).
//
// Case: descriptors, descriptor_bytes, direction, path.
//
// Reference: every written byte must be equal, with poison between the pieces. Bytes: once, over the link.
#pragma once

#include <memory>

#include "validator/kernels/catalogue.h"
#include "validator/kernels/swap_arguments.h"

namespace kvplan::validator {

std::vector<Case> swap_cases(CaseSet set, const MachineFacts& machine);
Result<std::unique_ptr<Problem>> make_swap(const Case& of, Purpose purpose, const MachineFacts& machine);

}  // namespace kvplan::validator
