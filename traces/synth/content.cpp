#include "traces/synth/content.h"

#include <algorithm>
#include <numeric>

#include "simulator/base/check.h"

namespace kvplan::traces {

void BlockRuns::extend(std::uint32_t first, std::int64_t blocks) {
  KVPLAN_CHECK(blocks >= 0, blocks);
  if (blocks == 0) return;
  known_ += blocks;
  const auto count = static_cast<std::uint32_t>(blocks);
  if (!runs_.empty() && runs_.back().first + runs_.back().blocks == first) {
    runs_.back().blocks += count;
  } else {
    runs_.push_back({first, count});
  }
}

void BlockRuns::append_to(std::vector<std::uint32_t>& ids, std::int64_t blocks) const {
  KVPLAN_CHECK(blocks <= known_, blocks, known_);
  for (auto run = runs_.begin(); blocks > 0; ++run) {
    const std::int64_t count = std::min<std::int64_t>(blocks, run->blocks);
    const std::size_t at = ids.size();
    ids.resize(at + static_cast<std::size_t>(count));
    std::iota(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.end(), run->first);
    blocks -= count;
  }
}

}  // namespace kvplan::traces
