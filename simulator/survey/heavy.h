// Sets of heavy tokens (figures.h), and rank correlation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kvplan::survey {

/// Indices, ascending, of the `count` greatest numbers of `got`; among equals the later index. REQUIRES: count <= size.
std::vector<std::int32_t> greatest_of(std::span<const double> got, std::int64_t count);

/// Spearman's rank correlation: Pearson's of ranks, where equal numbers share their mean rank. Absent with fewer than
/// two pairs, or if one side has a single value. REQUIRES: equal sizes.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace kvplan::survey
