// The most attention that a query can give to k tokens: the sum of the k greatest weights of its recorded row. This
// bounds the mass of every method that reads k tokens of the row; it does not bound the error of the output.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// Keeps its buffers from one row to the next.
class TopMass {
 public:
  /// out[i]: the sum of the entries[i] greatest weights of row[0, tokens), added in the order in which a replay adds
  /// attended mass; more entries than tokens mean all tokens. REQUIRES: entries descending, at least 1; out has the
  /// same length.
  void sums(RowView row, std::int64_t tokens, std::span<const std::int64_t> entries, std::span<double> out);
  /// As sums, and chosen[i]: the positions of these entries, ascending; of equal weights the newer ones are chosen.
  void choose(RowView row, std::int64_t tokens, std::span<const std::int64_t> entries, std::span<double> out,
              std::span<std::vector<std::int32_t>> chosen);

 private:
  std::vector<std::int32_t> positions_;  ///< ascending: remaining positions of the row
  std::vector<double> weights_;          ///< of these
  std::vector<std::int32_t> chosen_;
};

}  // namespace kvplan::attention
