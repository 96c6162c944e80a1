// Euclidean norms of recorded keys and values.
#pragma once

#include <cmath>
#include <cstdint>

#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention {

/// Norm of the token's key that query head `head` reads. REQUIRES: keys were recorded.
inline double key_norm(const LayerRows& rows, std::int32_t head, std::int32_t token) {
  const KeyView keys = rows.keys(head);
  double sum = 0;
  for (std::int32_t c = 0; c < keys.size; ++c) sum += keys.at(token, c) * keys.at(token, c);
  return std::sqrt(sum);
}

/// Norm of its value: as recorded, or computed from recorded values. REQUIRES: one of them exists.
inline double value_norm(const LayerRows& rows, std::int32_t head, std::int32_t token) {
  if (const LayerTensors* all = rows.beside(); all != nullptr && !all->value_norms.empty())
    return static_cast<double>(all->value_norms[static_cast<std::size_t>(
        head / (all->query_heads / all->kv_heads))][static_cast<std::size_t>(token)]);
  const ValueView values = rows.values(head);
  double sum = 0;
  for (std::int32_t c = 0; c < values.size; ++c) {
    const auto x = static_cast<double>(values.data[std::int64_t{token} * values.size + c]);
    sum += x * x;
  }
  return std::sqrt(sum);
}

}  // namespace kvplan::attention
