#include "simulator/attention/overlap.h"

#include <algorithm>
#include <iterator>

namespace kvplan::attention {

std::vector<std::vector<std::int32_t>> attended_positions(const LayerReplay& replay) {
  std::vector<std::vector<std::int32_t>> out;
  if (replay.traits().reads != Reads::kResidents) return out;
  for (std::int32_t set = 0; set < replay.sets(); ++set) {
    const auto kept = replay.kept(set);
    auto& positions = out.emplace_back(kept.begin(), kept.end());
    // Tokens dropped after the query had read count as attended; tokens dropped to make room were gone before it read.
    const auto dropped = replay.dropped(set);
    if (replay.traits().makes_room || dropped.empty()) continue;
    std::vector<std::int32_t> both;
    std::merge(kept.begin(), kept.end(), dropped.begin(), dropped.end(), std::back_inserter(both));
    positions = std::move(both);
  }
  return out;
}

std::int64_t in_common(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  std::int64_t out = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) ++out;
    const bool step_a = a[i] <= b[j];
    const bool step_b = b[j] <= a[i];
    i += step_a ? 1 : 0;
    j += step_b ? 1 : 0;
  }
  return out;
}

double shared_part(std::span<const std::int32_t> own, std::span<const std::int32_t> other) {
  if (own.empty()) return 0;
  return static_cast<double>(in_common(own, other)) / static_cast<double>(own.size());
}

std::span<const double> Overlap::of(const LayerReplay& replay, const LayerRows& rows) {
  shares_.clear();
  const auto attended = attended_positions(replay);
  const std::size_t heads = replay.attended_mass().size();
  for (std::size_t h = 0; h < heads && !attended.empty(); ++h) {
    const auto& own = attended[h * attended.size() / heads];
    const auto entries = std::max<std::int64_t>(std::ssize(own), 1);
    double most = 0;
    top_.choose(rows.row(static_cast<std::int32_t>(h)), replay.tokens(), std::span(&entries, 1),
                std::span(&most, 1), std::span(&greatest_, 1));
    shares_.push_back(shared_part(own, greatest_));
  }
  return shares_;
}

}  // namespace kvplan::attention
