// Scores on the host.
#include <algorithm>
#include <vector>

#include "simulator/base/threads.h"
#include "validator/kernels/host_launch.h"
#include "validator/kernels/host_vectors.h"

namespace kvplan::validator {
namespace {

/// 2^x up to 2^63: the twin of decode attention needs only x <= 0.
KVPLAN_INLINE float any_power_of_two(float x) {
  return power_of_two((x > 63.0F ? 63.0F : x) - 64.0F) * 0x1p64F;
}

KVPLAN_CLONES void add_head(float* acc, const float* logits, float lse, std::int32_t tokens) {
  for (std::int32_t v = 0; v < tokens; ++v) acc[v] += any_power_of_two(logits[v] - lse);
}

}  // namespace

void launch_on_host(const AccumulateArguments& a, int threads) {
  on_threads(threads, static_cast<std::size_t>(a.row_count), [&](std::size_t r) {
    const ScoreRow& row = a.rows[r];
    for (std::int32_t g = 0; g < a.group && row.tokens > 0; ++g)
      add_head(a.acc + row.first, a.logits + (row.head + g) * a.stride, a.lse[row.head + g], row.tokens);
  });
}

void launch_on_host(const TopKArguments& a, int threads) {
  on_threads(threads, static_cast<std::size_t>(a.row_count), [&](std::size_t r) {
    const ScoreRow& row = a.rows[r];
    std::int32_t* const kept = a.kept + static_cast<std::int64_t>(r) * a.budget;
    // Order: the greatest score first, of equal ones the earlier token; both are packed into one number to compare.
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(row.tokens));
    for (std::int32_t v = 0; v < row.tokens; ++v)
      keys[static_cast<std::size_t>(v)] = (std::uint64_t{in_order(a.scores[row.first + v])} << 32) |
                                          (0xFFFF'FFFFU - static_cast<std::uint32_t>(v));
    const std::int32_t count = std::min(a.budget, row.tokens);
    if (count < row.tokens)
      std::nth_element(keys.begin(), keys.begin() + count, keys.end(), std::greater<>());
    for (std::int32_t i = 0; i < count; ++i)
      kept[i] = static_cast<std::int32_t>(0xFFFF'FFFFU -
                                          static_cast<std::uint32_t>(keys[static_cast<std::size_t>(i)]));
    std::sort(kept, kept + count);
    std::fill(kept + count, kept + a.budget, -1);
  });
}

}  // namespace kvplan::validator
