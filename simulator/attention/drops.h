// The drops of token policies in the form that courses need (courses/course.h): known from lengths alone, or read
// from a trajectory over a recording.
#pragma once

#include <memory>
#include <vector>

#include "simulator/attention/policy.h"
#include "simulator/attention/trajectory.h"
#include "simulator/courses/course.h"

namespace kvplan::attention {

/// Drops of a positional policy, without a recording: the same for all units, or with tracks that keep intervals of
/// their own.
class IntervalDrops final : public core::Drops {
 public:
  /// `prompt`: tokens before the first drop; `units`: cells of one token in each track.
  IntervalDrops(KeptInterval keep, std::int64_t prompt, std::int32_t units)
      : IntervalDrops(std::vector<KeptInterval>{keep}, prompt, units) {}
  IntervalDrops(std::vector<KeptInterval> keep, std::int64_t prompt, std::int32_t units)
      : keep_(std::move(keep)), prompt_(prompt), units_(keep_.size(), units) {}
  /// The same drops in fewer tracks: neighbours that keep the same are joined.
  [[nodiscard]] IntervalDrops joined() const;
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override;

 private:
  std::vector<KeptInterval> keep_;  ///< [track]
  std::int64_t prompt_;
  std::vector<std::int32_t> units_;
};

/// The cells of one token that a policy drops separately, in a model with a number of layers and of KV heads per layer.
struct CellUnits {
  std::int64_t per_token{1};       ///< 1: all cells together; number of layers; or layers x KV heads
  std::int64_t metadata_bytes{0};  ///< metadata of the policy for each of them
};

/// For a policy that is only counted (courses/counted_course.h): all cells of a token are one unit. `kv_heads`: KV
/// heads of all layers together.
CellUnits counted_units(const PolicyChoice& policy, std::int64_t kv_heads);

/// Drops computed from a recording.
class RecordedDrops final : public core::Drops {
 public:
  /// REQUIRES: the trajectory is computed up to the last token that can drop anything, last_that_drops.
  explicit RecordedDrops(std::shared_ptr<const Trajectory> trajectory);
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override;

 private:
  std::shared_ptr<const Trajectory> trajectory_;
  std::vector<std::int32_t> units_;
};

/// Drops from a file of retained sets, for requests with the prompt of that file.
class SetDrops final : public core::Drops {
 public:
  /// REQUIRES: check_recorded (recorded_sets.h) reports no error for any of these layers.
  SetDrops(std::shared_ptr<const RecordedLayers> recorded, std::int64_t layers);
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  /// REQUIRES: the sets cover this many tokens.
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override;

 private:
  std::shared_ptr<const RecordedLayers> recorded_;
  std::vector<std::int32_t> units_;
};

/// The last token that can drop anything in a request with `final_tokens` tokens (at least one): nothing is dropped
/// after the last token.
constexpr std::int64_t last_that_drops(std::int64_t final_tokens) {
  return final_tokens >= 2 ? final_tokens - 2 : 0;
}

}  // namespace kvplan::attention
