// The drops of a policy for one part of the memory: a table of a request, or a rank of a deployment.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::core {

/// A track of the whole memory, and the number of cells that a token has in this part of the track.
struct PartTrack {
  std::int32_t track{0};
  std::int32_t units{1};  ///< 0: its cells are on other ranks
  friend bool operator==(const PartTrack&, const PartTrack&) = default;
};

class DropsOfPart final : public Drops {
 public:
  DropsOfPart(std::shared_ptr<const Drops> all, std::vector<PartTrack> tracks)
      : all_(std::move(all)), tracks_(std::move(tracks)) {
    for (const PartTrack& each : tracks_) units_.push_back(each.units);
  }
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override {
    all_->dropped(tracks_[static_cast<std::size_t>(track)].track, n, positions);
  }

 private:
  std::shared_ptr<const Drops> all_;
  std::vector<PartTrack> tracks_;
  std::vector<std::int32_t> units_;
};

/// `tracks` neighbouring tracks from `first` on, each with the same number of units.
inline std::vector<PartTrack> neighbour_tracks(std::int64_t first, std::int64_t tracks, std::int64_t units) {
  std::vector<PartTrack> out;
  for (std::int64_t t = first; t < first + tracks; ++t)
    out.push_back({static_cast<std::int32_t>(t), static_cast<std::int32_t>(units)});
  return out;
}

}  // namespace kvplan::core
