// Results beside references.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "validator/kernels/problem.h"

namespace kvplan::validator {

/// Rows of `row` numbers each. Good where every number is one and the relative Frobenius error is at most `tolerance`.
/// REQUIRES: as many numbers on both sides.
Comparison compare_rows(std::span<const float> result, std::span<const double> reference, std::size_t row,
                        double tolerance);
/// Every byte. `what` names them in the problem's text.
Comparison compare_bytes(std::span<const std::byte> result, std::span<const std::byte> reference,
                         const std::string& what);
/// Of two comparisons of one case: both have to be good; the worst figures of each.
Comparison both(const Comparison& a, const Comparison& b);

/// What is stored, as floats.
std::vector<float> values_of(std::span<const std::byte> bytes, Stored stored);

template <class T>
std::vector<std::byte> bytes_of_vector(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace kvplan::validator
