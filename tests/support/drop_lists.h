// Drops as plain lists, for tests that draw them.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::test {

class DropLists : public core::Drops {
 public:
  [[nodiscard]] std::span<const std::int32_t> track_units() const final { return units_; }
  void dropped(std::int32_t track, std::int64_t n, std::vector<std::int32_t>& positions) const final {
    const auto& list = lists_[static_cast<std::size_t>(track)][static_cast<std::size_t>(n - prompt_)];
    positions.insert(positions.end(), list.begin(), list.end());
  }

 protected:
  explicit DropLists(std::int64_t prompt) : prompt_(prompt) {}
  /// Adds a track. After each token, from the prompt's last one on: while more than `most(n)` tokens are kept,
  /// `choose(kept)` returns the index of the next token to drop.
  template <class Most, class Choose>
  void add_track(std::int32_t units, std::int64_t final_tokens, Most most, Choose choose) {
    units_.push_back(units);
    auto& lists = lists_.emplace_back();
    std::vector<std::int32_t> kept;
    for (std::int64_t n = 1; n <= final_tokens; ++n) {
      kept.push_back(static_cast<std::int32_t>(n - 1));
      if (n < prompt_) continue;
      auto& list = lists.emplace_back();
      while (static_cast<std::int64_t>(kept.size()) > most(n)) {
        const auto which = static_cast<std::ptrdiff_t>(choose(kept));
        list.push_back(kept[static_cast<std::size_t>(which)]);
        kept.erase(kept.begin() + which);
      }
      std::sort(list.begin(), list.end());
    }
  }

 private:
  std::int64_t prompt_;
  std::vector<std::int32_t> units_;
  std::vector<std::vector<std::vector<std::int32_t>>> lists_;  ///< [track][n - prompt]
};

}  // namespace kvplan::test
