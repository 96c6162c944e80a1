// A second, slow implementation of every figure of a survey, by its definition (simulator/survey/figures.h), on whole
// matrices.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulator/attention/tensor_rows.h"

namespace kvplan::survey {

using Matrix = std::vector<std::vector<double>>;  ///< rows
/// Most tokens for ranks of attention maps: the slow method's time grows with the cube of them.
inline constexpr int kNaiveRankTokens = 80;

/// One layer of one sequence.
struct NaiveLayer {
  std::vector<Matrix> heads;                       ///< [query head][t][0 .. t]; empty if there are no rows
  std::optional<attention::LayerTensors> tensors;  ///< queries, keys, perhaps values
};

/// By key of the figure; absent figures are left out.
using NaiveFigures = std::map<std::string, double>;

NaiveFigures naive_row_figures(const Matrix& rows);
/// Mean over late rows of the k largest weights; nothing if no row is late.
std::optional<double> naive_top_mass(const Matrix& rows, int k);
/// Shares of angles, in steps of 15 degrees, between two layers' keys or values of one KV head; empty if there is
/// none.
std::vector<double> naive_angles(const std::vector<float>& a, const std::vector<float>& b, int size);
/// Heavy tokens of the sum of some heads' rows; empty if no row is late.
std::set<int> naive_heavy(const std::vector<Matrix>& heads);
/// All figures of query head h of a layer.
NaiveFigures naive_query_head(const NaiveLayer& layer, std::size_t h);
/// All figures of KV head h; `next`: the following layer, or null.
NaiveFigures naive_kv_head(const NaiveLayer& layer, const NaiveLayer* next, std::size_t h);

}  // namespace kvplan::survey
