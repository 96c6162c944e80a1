// The cells of a request that follows a token policy, computed from the log's Course facts: the slot of every token in
// every track, the time when it is dropped, and the blocks that are freed. The rules of placement are implemented a
// second time in this file (simulator/io/log/FORMAT.md describes them).
//
// Life cycle: made at an admission, `add` until `complete`, then the other functions. "After n tokens": n tokens are
// written, and the drops that follow have happened.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "validator/replay/cells.h"
#include "validator/replay/told_drops.h"

namespace kvplan::validator {

class Course {
 public:
  struct Shape {
    std::int64_t prompt, final_tokens;  ///< prompt and length of this admission; 1 <= prompt <= final_tokens
    std::int64_t alloc_unit_tokens;
    std::int64_t tracks;  ///< tracks of all tables: those of the first table, then as many of the next, ...
    std::int64_t tables;
    bool returns_alloc_units;
    bool reuse;
  };
  explicit Course(const Shape& shape);

  /// Adds the next numbers of its facts. Returns the error in them, or an empty text.
  std::string add(std::span<const std::int32_t> numbers);
  [[nodiscard]] bool complete() const { return told_.complete(); }

  // REQUIRES for all below: complete.
  [[nodiscard]] const Shape& shape() const { return s_; }
  /// The slot of a token in a track.
  [[nodiscard]] std::int64_t slot(std::int64_t track, std::int64_t token) const {
    return tracks_[at(track)].slot[at(token)];
  }
  /// Calls f(track, slot) for all slots with a mark that changes when tokens [from, to) are written, for some twice.
  template <class Called>
  void each_change(std::int64_t from, std::int64_t to, const Called& f) const {
    for (std::int64_t t = 0; t < s_.tracks; ++t) {
      for (std::int64_t token = from; token < to; ++token) f(t, slot(t, token));
      for (std::int64_t n = std::max(s_.prompt, from + 1); n <= std::min(to, s_.final_tokens - 1); ++n)
        for (const std::int32_t token : told_.tokens(t, n)) f(t, slot(t, token));
    }
  }
  /// Slots that are written once n tokens are, in the longest track.
  [[nodiscard]] std::int64_t slots_written(std::int64_t n) const;
  /// Fills `marks` with the expected content of slots first, first + 1, ... of a track after n tokens.
  void marks(std::int64_t track, std::int64_t first, std::int64_t n, std::span<Mark> marks) const;
  /// Number of written tokens at the first drop; INT64_MAX if nothing is ever dropped.
  [[nodiscard]] std::int64_t first_drop() const { return first_drop_; }
  /// The digest of the tokens kept after n tokens, as in claims.
  [[nodiscard]] std::uint64_t kept_digest(std::int64_t n) const;
  /// Entries freed after n tokens (block b of table t is b x tables + t): table by table, highest first.
  [[nodiscard]] const std::vector<std::int32_t>& freed_entries(std::int64_t n) const {
    return freed_[at(n - s_.prompt)];
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  void place();

  Shape s_;
  ToldDrops told_;
  /// One track. A slot takes 4 bytes in each list.
  struct Track {
    std::vector<std::int32_t> slot;  ///< [token]
    // For slots that are reused:
    std::vector<std::int32_t> written;   ///< tokens by slot, ascending within each
    std::vector<std::int32_t> first_of;  ///< [slot] index into `written`; one more entry at the end
  };
  void sort_by_slot(Track& track) const;
  /// The token that a slot of a track holds once n tokens are written (-1: none yet), and whether another token will be
  /// written there.
  struct Written {
    std::int64_t token;
    bool awaited;
  };
  [[nodiscard]] Written written(const Track& track, std::int64_t slot, std::int64_t n) const;
  std::vector<Track> tracks_;
  std::vector<std::vector<std::int32_t>> freed_;  ///< [n - prompt]
  std::int64_t first_drop_{INT64_MAX};
};

}  // namespace kvplan::validator
