// Attention rows computed from Q and K of one layer: row t of a head is the softmax of scale * q_t . k_i over
// i = 0 .. t. Values, where recorded, allow output errors.
//
// Arithmetic, the same on every machine: elements are taken as doubles (exact), products are added in order
// of the element index, the softmax uses fixed_exp and sum_in_lanes (kernels.h). Keys are kept transposed, so
// that the inner loop runs over tokens, which are independent of each other: it vectorises at any width
// without changing the order in which one score is summed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// Tensors of one layer after position encoding.
struct LayerTensors {
  std::int64_t tokens{0};
  std::int32_t query_heads{1};
  std::int32_t kv_heads{1};
  std::int32_t key_size{1};
  std::int32_t value_size{0};
  double scale{1.0};                        ///< usually 1 / sqrt(key_size)
  std::vector<std::vector<float>> queries;  ///< [query head][token * key_size + c]
  std::vector<std::vector<float>> keys;     ///< [KV head][token * key_size + c]
  std::vector<std::vector<float>> values;   ///< [KV head][token * value_size + c]; empty where not recorded
};

/// A reader of rows computed in blocks of a few tokens. REQUIRES: sizes as the fields say, all finite.
std::unique_ptr<LayerRows> rows_from_tensors(LayerTensors tensors);

}  // namespace kvplan::attention
