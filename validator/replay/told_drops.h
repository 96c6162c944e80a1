// The drops of a request in an event log: the dropped tokens (Course facts), or only their number (Counts facts).
//
// Life cycle: made at an admission, `add` or `add_counts` until `complete`, then the other functions. "After n tokens":
// n tokens are written, and the drops that follow have happened. n counts from the prompt's completion on; nothing is
// dropped after the last token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kvplan::validator {

class ToldDrops {
 public:
  /// REQUIRES: 1 <= prompt <= final_tokens, tracks >= 1.
  ToldDrops(std::int64_t prompt, std::int64_t final_tokens, std::int64_t tracks);

  /// Adds the next numbers of its Course facts. Returns the error in them, or an empty text.
  std::string add(std::span<const std::int32_t> numbers);
  /// Adds the next tracks of its Counts facts.
  std::string add_counts(std::int64_t tracks, std::span<const std::int32_t> runs);
  [[nodiscard]] bool complete() const { return complete_; }

  // REQUIRES for all below: complete; prompt <= n < final_tokens.

  /// Number of a track's tokens that are dropped after n.
  [[nodiscard]] std::int64_t gone(std::int64_t track, std::int64_t n) const {
    return of(track).end[at(n - prompt_ + 1)];
  }
  /// Tokens of a track that are dropped after n, ascending. REQUIRES: reported by Course facts.
  [[nodiscard]] std::span<const std::int32_t> tokens(std::int64_t track, std::int64_t n) const {
    const Track& t = tracks_[at(track)];
    return std::span(t.tokens).subspan(at(t.end[at(n - prompt_)]),
                                       at(t.end[at(n - prompt_ + 1)] - t.end[at(n - prompt_)]));
  }
  /// [token] number of written tokens when it is dropped. REQUIRES: reported by Course facts.
  [[nodiscard]] std::span<const std::int32_t> gone_at(std::int64_t track) const {
    return tracks_[at(track)].gone_at;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  /// A token takes 4 bytes in each list.
  struct Track {
    std::vector<std::int32_t> gone_at;  ///< [token] number of written tokens when it is dropped
    std::vector<std::int32_t> tokens;   ///< in the order in which they are dropped
    std::vector<std::int32_t> end{0};   ///< [n - prompt + 1] number of tokens dropped after n
  };
  [[nodiscard]] const Track& of(std::int64_t track) const {
    return alike_.empty() ? tracks_[at(track)] : tracks_[at(alike_[at(track)])];
  }

  std::int64_t prompt_, final_tokens_, count_;
  bool complete_;
  /// Number of positions left in the list that is being read; -1: its count comes next
  std::int64_t n_{0}, track_{0}, left_{-1};
  std::int32_t latest_{-1};
  std::vector<Track> tracks_;
  std::vector<std::int32_t> alike_;  ///< with counts: by track, another track that has the same numbers
};

}  // namespace kvplan::validator
