// The hit curve of LRU for all cache sizes in one pass. A larger LRU cache holds everything that a smaller one holds.
// So a reference is a hit from some size on: its stack distance, the number of different blocks from the last use of
// its block to this use (Mattson, Gecsei, Slutz, Traiger 1970).
#pragma once

#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/replacement/references.h"

namespace kvplan::replacement {

struct LruCurve {
  std::vector<Hits> hits;  ///< by capacity in blocks, from 0; capacities beyond the last have no more hits

  [[nodiscard]] const Hits& at(std::int64_t capacity) const {
    const auto last = static_cast<std::int64_t>(hits.size()) - 1;
    return hits[static_cast<std::size_t>(capacity < last ? capacity : last)];
  }
};

/// Error: interrupted, if `stop_asked` is not null and returns true.
Result<LruCurve> lru_curve(const References& refs, bool (*stop_asked)());

/// The curve of object hits, estimated from a sample of the blocks, chosen by a hash of their ids (SHARDS with the
/// adjustment of its first bucket: Waldspurger, Park, Garthwaite, Ahmad 2015). A stack distance d within the sample
/// stands for d / rate.
class SampledCurve {
 public:
  /// Estimated share of references that are hits.
  struct Estimate {
    double hit_rate;
    double standard_error;  ///< from the spread of eight curves, each of an eighth of the sample
  };
  [[nodiscard]] Estimate at(std::int64_t capacity) const;
  [[nodiscard]] std::int64_t sampled() const { return sampled_; }  ///< references
  /// Capacities at which the estimate changes, ascending.
  [[nodiscard]] const std::vector<std::int64_t>& capacities() const { return capacities_; }

  static constexpr std::size_t kParts = 8;

 private:
  friend Result<SampledCurve> sampled_lru_curve(const References&, const Fraction&, std::uint64_t,
                                                bool (*)());
  struct Part {
    double rate{0};
    double references{0};  // expected number of references in a sample of this rate
    std::int64_t sampled{0};
    std::vector<std::int64_t> hits;  // by stack distance within the sample
    [[nodiscard]] double hit_rate(std::int64_t capacity) const;
  };
  Part whole_;
  Part parts_[kParts];
  std::int64_t sampled_{0};
  std::vector<std::int64_t> capacities_;
};

/// `seed` chooses the hash. REQUIRES: 0 < rate <= 1. Errors: nothing was sampled; interrupted.
Result<SampledCurve> sampled_lru_curve(const References& refs, const Fraction& rate, std::uint64_t seed,
                                       bool (*stop_asked)());

}  // namespace kvplan::replacement
