// The fast engine's account of layers with windows: it frees blocks that have left their windows, and sums, per
// window, the tokens that decoding requests do not see. A full window (the request holds as many tokens as the window
// shows) leaves one more token unseen with every step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/latency.h"
#include "simulator/core/observer.h"
#include "simulator/model/layer_groups.h"
#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan::core {

class WindowSums {
 public:
  WindowSums(Allocator& allocator, std::span<Observer* const> observers)
      : allocator_(allocator),
        observers_(observers),
        groups_(allocator.layout().groups),
        alloc_unit_tokens_(allocator.layout().alloc_unit_tokens),
        windows_(model::windows_of(groups_)) {
    KVPLAN_CHECK(windows_.size() <= kMostWindows);
    KVPLAN_CHECK(windows_.empty() || allocator.growth_tokens() < 0);
  }

  /// Frees the blocks that no window shows to the next token, the one after `held` tokens. To be called before that
  /// token's allocation unit is granted.
  void leave_blocks(SlotState& slot, std::int64_t held) {
    if (!windows_.empty()) free_unseen(slot, held);
  }
  /// The token count, at least `tokens`, at which this request must be visited next: when one of its blocks leaves a
  /// window, or when a window becomes full. `tokens`: tokens that the request will hold.
  [[nodiscard]] std::int64_t next_change(const SlotState& slot, std::int64_t tokens) const {
    std::int64_t next = INT64_MAX;
    for (const model::WindowLayers& shown : windows_) {
      const std::int64_t seen = shown.window - 1;  // of what is written
      if (tokens <= seen) next = std::min(next, seen);
      const std::int64_t gone = unseen(shown.window, slot.windows_at) / alloc_unit_tokens_;
      next = std::min(next, (gone + 1) * alloc_unit_tokens_ + seen);
    }
    return std::max(next, tokens);
  }
  /// Counts the windows that have become full for a decoding request with `held` tokens: from then on each step
  /// leaves one more token unseen. To be called when the request begins to decode, and at every next_change.
  void fill(SlotState& slot, std::int64_t held) {
    for (auto w = static_cast<std::size_t>(slot.windows_full);
         w < windows_.size() && held >= windows_[w].window - 1; ++w) {
      sums_[w] += unseen(windows_[w].window, held);
      ++growth_[w];
      ++slot.windows_full;
    }
  }
  /// The request stops decoding.
  void leave(const SlotState& slot, std::int64_t held) {
    for (std::size_t w = 0; w < static_cast<std::size_t>(slot.windows_full); ++w) {
      sums_[w] -= unseen(windows_[w].window, held);
      --growth_[w];
    }
  }
  void run(std::int64_t steps) {
    for (std::size_t w = 0; w < windows_.size(); ++w) sums_[w] += growth_[w] * steps;
  }

  /// Adds the tokens that decoding requests do not see in a step, and their growth per step.
  void add_decoding(Pass& pass) const {
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      pass.load.unseen[w].context_tokens += sums_[w];
      pass.load.unseen[w].add_pairs(sums_[w]);
    }
    pass.growth.unseen = growth_;
  }
  /// Adds the tokens that the queries at [computed, computed + tokens) of a request do not see.
  void add_chunk(StepLoad& load, std::int64_t computed, std::int64_t tokens) const {
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      load.unseen[w].context_tokens += unseen(windows_[w].window, computed);
      const std::int64_t last = unseen(windows_[w].window, computed + tokens - 1);
      const std::int64_t fewer =
          std::min(tokens, last);  // tokens that miss some of the context: 1, 2, ... or more, up to `last`
      load.unseen[w].add_pairs(Wide{fewer} * last - Wide{fewer} * (fewer - 1) / 2);
    }
  }

 private:
  void free_unseen(SlotState& slot, std::int64_t held) {
    const std::int64_t before = std::exchange(slot.windows_at, held);
    const auto gone = [&](const auto& shown, std::int64_t at) {
      return unseen(shown.window, at) / alloc_unit_tokens_;
    };
    if (std::all_of(windows_.begin(), windows_.end(),
                    [&](const auto& shown) { return gone(shown, held) == gone(shown, before); }))
      return;
    entries_.clear();
    const auto table = allocator_.table(slot.request).ids;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].window == 0) continue;
      for (std::int64_t b = gone(groups_[g], held) - 1; b >= gone(groups_[g], before); --b) {
        const auto entry = static_cast<std::int32_t>(b * std::ssize(groups_) + static_cast<std::int64_t>(g));
        if (!table.empty() && table[static_cast<std::size_t>(entry)] == kNoBlock) break;  // and all below it
        entries_.push_back(entry);
      }
    }
    if (entries_.empty()) return;
    for (Observer* o : observers_) o->on_free_blocks(FreedBlocks{slot.request, held, entries_, table});
    allocator_.block_returns()->free_entries(slot.request, entries_);
  }
  /// Number of tokens before `position` that a window does not show to the token there.
  [[nodiscard]] static std::int64_t unseen(std::int64_t window, std::int64_t position) {
    return std::max<std::int64_t>(position + 1 - window, 0);
  }

  Allocator& allocator_;
  std::span<Observer* const> observers_;
  std::vector<model::LayerGroup> groups_;
  std::int64_t alloc_unit_tokens_;
  std::vector<model::WindowLayers> windows_;
  std::vector<std::int32_t> entries_;  // entries of blocks that left a window
  std::array<std::int64_t, kMostWindows> sums_{};
  // number of decoding requests for which the window is full
  std::array<std::int64_t, kMostWindows> growth_{};
};

}  // namespace kvplan::core
