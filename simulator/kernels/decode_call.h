// One call of decode attention in one layer, for one new token of each sequence.
#pragma once

#include <cstdint>

namespace kvplan::kernels {

struct DecodeCall {
  std::int64_t batch{1};   ///< sequences
  std::int64_t kv_len{1};  ///< cached tokens of each sequence, the new one included
  std::int64_t q_heads{1};
  std::int64_t kv_heads{1};  ///< divides q_heads
  std::int64_t head_dim{128};
  std::int64_t window{0};   ///< most tokens that a sequence sees; 0: all
  double kv_elem_bytes{2};  ///< bytes of a stored element
};

}  // namespace kvplan::kernels
