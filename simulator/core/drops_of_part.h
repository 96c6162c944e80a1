// What a policy drops, as a part of the memory sees it: a table of a request, or a rank of a deployment.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "simulator/core/course.h"

namespace kvplan::core {

/// Neighbouring tracks from `first` on, of other units: of each of them one number.
class DropsOfPart final : public Drops {
 public:
  DropsOfPart(std::shared_ptr<const Drops> all, std::int32_t first, std::vector<std::int32_t> units)
      : all_(std::move(all)), first_(first), units_(std::move(units)) {}
  [[nodiscard]] std::span<const std::int32_t> track_units() const override { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const override {
    all_->dropped(first_ + track, n, positions);
  }

 private:
  std::shared_ptr<const Drops> all_;
  std::int32_t first_;
  std::vector<std::int32_t> units_;
};

}  // namespace kvplan::core
