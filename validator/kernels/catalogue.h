// All kernels of the validator, one line each. To add one: its arguments in launch.h, a function for each backend, a
// problem with a reference, cases, and its line in catalogue.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "validator/kernels/machine.h"
#include "validator/kernels/problem.h"

namespace kvplan::validator {

/// A set of cases: small ones that cover all features of a kernel; a calibration grid, coarse or fine; cases outside
/// the coarse grid, to test predictions.
enum class CaseSet : std::uint8_t { kCheck, kSanitize, kCoarse, kFine, kUnseen };

struct Kernel {
  std::string_view name;
  std::string_view what;
  /// Empty if the kernel has no such set. Cases of grids fit the machine's memory.
  std::vector<Case> (*cases)(CaseSet set, const MachineFacts& machine);
  /// Errors: a case that the kernel cannot run, with the field.
  Result<std::unique_ptr<Problem>> (*make)(const Case& of, Purpose purpose, const MachineFacts& machine);
};

std::span<const Kernel> catalogue();
/// Errors: no kernel has that name.
Result<const Kernel*> find_kernel(std::string_view name);

}  // namespace kvplan::validator
