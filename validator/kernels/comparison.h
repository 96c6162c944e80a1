// Comparison of results with references.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "validator/kernels/problem.h"

namespace kvplan::validator {

/// Compares rows of `row` numbers. Good if every result is finite and the relative Frobenius error is at most
/// `tolerance`. REQUIRES: both sides have the same size.
Comparison compare_rows(std::span<const float> result, std::span<const double> reference, std::size_t row,
                        double tolerance);
/// Compares every byte. `what`: what the bytes are, for the text of a problem.
Comparison compare_bytes(std::span<const std::byte> result, std::span<const std::byte> reference,
                         const std::string& what);
/// Joins two comparisons of one case: good if both are good; has the worst figures of each.
Comparison both(const Comparison& a, const Comparison& b);

/// Stored numbers as floats.
std::vector<float> values_of(std::span<const std::byte> bytes, Stored stored);

template <class T>
std::vector<std::byte> bytes_of_vector(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace kvplan::validator
