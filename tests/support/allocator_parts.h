// Calls of tests to optional parts of an allocator, which the allocator may lack.
#pragma once

#include "simulator/core/allocator.h"

namespace kvplan::test {

inline core::PrefixHit lookup(core::Allocator& a, RequestId request, std::int64_t num_tokens) {
  return a.contents() == nullptr ? core::PrefixHit{} : a.contents()->lookup(request, num_tokens);
}
inline void insert(core::Allocator& a, RequestId request, std::int64_t tokens) {
  if (a.contents() != nullptr) a.contents()->insert(request, tokens);
}
inline void forget(core::Allocator& a, RequestId request) {
  if (a.contents() != nullptr) a.contents()->forget(request);
}
inline std::span<const core::RangeMove> moves(core::Allocator& a) {
  return a.placing() == nullptr ? std::span<const core::RangeMove>{} : a.placing()->moves();
}
inline void end_copies(core::Allocator& a) {
  if (a.placing() != nullptr) a.placing()->end_copies();
}
inline Ticks take_delay(core::Allocator& a, std::int64_t copied_tokens, Ticks computed) {
  return a.placing() == nullptr ? Ticks{} : a.placing()->take_delay(copied_tokens, computed);
}

}  // namespace kvplan::test
