// The cells of one request under a token policy, one by one: a slot is found by searching for the lowest free one,
// states by looking at every cell and at all later tokens. Slow on purpose; shares no code with courses/course.cpp.
#pragma once

#include <set>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::test {

using core::CourseShape;
using core::HeldCells;
using core::Placement;

/// One cell of the walk.
struct WalkedCell {
  bool written{false}, kept{false};
  std::int64_t position{-1};
};

class Walk {
 public:
  Walk(const CourseShape& shape, const core::Drops& drops) : s_(shape), drops_(drops) {
    const auto tracks = drops.track_units().size();
    blocks_ = ceil_div(s_.final_tokens, s_.alloc_unit_tokens);
    cells_.assign(tracks, std::vector<WalkedCell>(static_cast<std::size_t>(blocks_ * s_.alloc_unit_tokens)));
    writes_.resize(tracks);
    granted_ = s_.returns_alloc_units ? 0 : blocks_;
  }

  /// Tokens [0, prompt) of the prompt, granted in allocation units.
  void prompt() {
    grant_to(s_.prompt);
    for (std::int64_t n = 0; n < s_.prompt; ++n) write(n);
  }
  void grant_to(std::int64_t slots) {
    if (s_.returns_alloc_units) granted_ = std::max(granted_, ceil_div(slots, s_.alloc_unit_tokens));
  }
  /// Writes token n in every track; stores its slots and returns how long the table must be.
  std::int64_t write(std::int64_t n) {
    std::int64_t reach = 0;
    for (std::size_t t = 0; t < cells_.size(); ++t) {
      const std::int64_t slot = place_of(t, n);
      WalkedCell& c = cells_[t][static_cast<std::size_t>(slot)];
      c = {true, true, n};
      writes_[t].push_back(slot);
      reach = std::max(reach, slot + 1);
    }
    grant_to(reach);
    return reach;
  }
  void drop(std::int64_t n) {
    for (std::size_t t = 0; t < cells_.size(); ++t) {
      std::vector<std::int32_t> positions;
      drops_.dropped(static_cast<std::int32_t>(t), n, positions);
      has_dropped_ = has_dropped_ || !positions.empty();
      for (const std::int32_t p : positions)
        for (WalkedCell& c : cells_[t])
          if (c.position == p) c.kept = false;
    }
  }
  std::vector<std::int32_t> freed_entries() {
    std::vector<std::int32_t> out;
    for (std::int64_t b = granted_ - 1; s_.returns_alloc_units && b >= 0; --b) {
      bool needed = gone_.count(b) > 0;
      each(b, [&](std::size_t t, std::int64_t slot) {
        const WalkedCell& c = cells_[t][static_cast<std::size_t>(slot)];
        needed = needed || !c.written || c.kept;
      });
      if (needed) continue;
      gone_.insert(b);
      out.push_back(static_cast<std::int32_t>(b));
    }
    return out;
  }
  /// `whole`: a walk that is finished, so that it has all slots that will ever be written, by track.
  [[nodiscard]] HeldCells count(const Walk& whole) const {
    HeldCells out;
    for (std::int64_t b = 0; b < granted_; ++b) {
      if (gone_.count(b) > 0) continue;
      std::vector<std::int64_t> used(cells_.size(), 0), idle(cells_.size(), 0);
      std::int64_t all = 0;
      each(b, [&](std::size_t t, std::int64_t slot) {
        const WalkedCell& c = cells_[t][static_cast<std::size_t>(slot)];
        const std::int64_t units = drops_.track_units()[t];
        bool awaited = false;
        for (std::size_t n = writes_[t].size(); n < whole.writes_[t].size(); ++n)
          awaited = awaited || whole.writes_[t][n] == slot;
        std::int64_t* state = nullptr;
        if (c.kept) {
          state = &out.live;
        } else if (awaited) {
          state = &out.reserved;
        } else if (c.written && s_.placement == Placement::kHoles) {
          state = &out.hole;
        }
        if (state == nullptr) {
          idle[t] += units;
        } else {
          *state += units;
          ++used[t];
          ++all;
        }
      });
      for (std::size_t t = 0; t < cells_.size(); ++t) {
        std::int64_t& state = used[t] > 0 ? out.tail : all > 0 ? out.padding : out.internal;
        state += idle[t];
      }
    }
    return out;
  }
  [[nodiscard]] std::int64_t granted() const { return granted_; }
  /// True if any track has dropped a token.
  [[nodiscard]] bool has_dropped() const { return has_dropped_; }

 private:
  template <class F>
  void each(std::int64_t block, F f) const {
    for (std::size_t t = 0; t < cells_.size(); ++t)
      for (std::int64_t i = 0; i < s_.alloc_unit_tokens; ++i) f(t, block * s_.alloc_unit_tokens + i);
  }
  [[nodiscard]] std::int64_t place_of(std::size_t t, std::int64_t n) const {
    if (s_.placement == Placement::kHoles) return n;
    for (std::int64_t slot = 0;; ++slot) {
      const WalkedCell& c = cells_[t][static_cast<std::size_t>(slot)];
      if (!c.kept && gone_.count(slot / s_.alloc_unit_tokens) == 0) return slot;
    }
  }
  CourseShape s_;
  const core::Drops& drops_;
  std::int64_t blocks_{0}, granted_{0};
  bool has_dropped_{false};
  std::vector<std::vector<WalkedCell>> cells_;
  std::vector<std::vector<std::int64_t>> writes_;  ///< by track: slots in order of tokens
  std::set<std::int64_t> gone_;
};

}  // namespace kvplan::test
