// All kernels of the validator, one line each. To add one: its arguments in launch.h, a function for each backend, a
// problem with a reference, cases, and its line in catalogue.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "validator/kernels/machine.h"
#include "validator/kernels/problem.h"

namespace kvplan::validator {

/// Which cases: small ones that cover what the kernel can do; a grid to calibrate with, coarse or fine; rows that the
/// coarse grid does not hold, to predict.
enum class CaseSet : std::uint8_t { kCheck, kSanitize, kCoarse, kFine, kUnseen };

struct Kernel {
  std::string_view name;
  std::string_view what;
  /// Nothing where the kernel has no such set. Cases of grids fit the machine's memory.
  std::vector<Case> (*cases)(CaseSet set, const MachineFacts& machine);
  /// Errors: the case is none that the kernel can do, with the field.
  Result<std::unique_ptr<Problem>> (*make)(const Case& of, Purpose purpose, const MachineFacts& machine);
};

std::span<const Kernel> catalogue();
/// Errors: no kernel has that name.
Result<const Kernel*> find_kernel(std::string_view name);

}  // namespace kvplan::validator
