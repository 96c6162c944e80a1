// The fast engine's account of windows: blocks that leave them, and what they do not show of the context, as sums
// over decoding requests by window, which grow by as much with every step until a request holds as many tokens as
// one shows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/latency.h"
#include "simulator/core/observer.h"
#include "simulator/core/running_slots.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::core {

class WindowSums {
 public:
  WindowSums(Allocator& allocator, std::span<Observer* const> observers)
      : allocator_(allocator), observers_(observers), windows_(model::windows_of(allocator.layout().groups)) {
    KVPLAN_CHECK(windows_.size() <= kMostWindows);
    KVPLAN_CHECK(windows_.empty() || allocator.growth_tokens() < 0);
  }

  /// Before a request that holds `held` tokens is granted what it needs next.
  void leave_blocks(RequestId request, std::int64_t held) {
    if (windows_.empty()) return;
    const auto entries = allocator_.window_returns()->leave_windows(request, held);
    if (entries.empty()) return;
    for (Observer* o : observers_) o->on_leave_windows(LeaveWindows{request, held, entries});
  }
  /// A decoding request that now holds `held` tokens may hold as many as more of the windows show: from then on each
  /// step leaves one more unseen. To be told when it begins to decode, and whenever it comes to that.
  void fill(SlotState& slot, std::int64_t held) {
    for (auto w = static_cast<std::size_t>(slot.windows_full);
         w < windows_.size() && held >= windows_[w].window - 1; ++w) {
      sums_[w] += unseen(w, held);
      ++growth_[w];
      ++slot.windows_full;
    }
  }
  /// It decodes no more.
  void leave(const SlotState& slot, std::int64_t held) {
    for (std::size_t w = 0; w < static_cast<std::size_t>(slot.windows_full); ++w) {
      sums_[w] -= unseen(w, held);
      --growth_[w];
    }
  }
  void run(std::int64_t steps) {
    for (std::size_t w = 0; w < windows_.size(); ++w) sums_[w] += growth_[w] * steps;
  }

  /// What the decoding requests do not see in a step, and by how much that grows.
  void add_decoding(Pass& pass) const {
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      pass.load.unseen[w].context_tokens += sums_[w];
      pass.load.unseen[w].add_pairs(sums_[w]);
    }
    pass.growth.unseen = growth_;
  }
  /// What tokens [computed, computed + tokens) of a request do not see.
  void add_chunk(StepLoad& load, std::int64_t computed, std::int64_t tokens) const {
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      load.unseen[w].context_tokens += unseen(w, computed);
      const std::int64_t last = unseen(w, computed + tokens - 1);
      const std::int64_t fewer =
          std::min(tokens, last);  // tokens that miss some: 1, 2, ... or more, up to `last`
      load.unseen[w].add_pairs(Wide{fewer} * last - Wide{fewer} * (fewer - 1) / 2);
    }
  }

 private:
  /// Tokens before the one at `position` that the window does not show to it.
  [[nodiscard]] std::int64_t unseen(std::size_t w, std::int64_t position) const {
    return std::max<std::int64_t>(position + 1 - windows_[w].window, 0);
  }

  Allocator& allocator_;
  std::span<Observer* const> observers_;
  std::vector<model::WindowLayers> windows_;
  std::array<std::int64_t, kMostWindows> sums_{};
  std::array<std::int64_t, kMostWindows> growth_{};  // decoding requests that hold as many tokens as it shows
};

}  // namespace kvplan::core
