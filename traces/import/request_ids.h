// Resolves the names of requests, for sources in which a request names the requests that it waits for.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/import/piece_builder.h"

namespace kvplan::traces {

/// Converts names of rows (Row::id, Row::after_ids) to positions (Row::after, Row::awaited_by). A row may refer to a
/// later row; when the later row comes, it lists the rows that wait for it.
class RequestIds {
 public:
  /// Call for every row in order, at its position. False if an earlier row has its name.
  bool resolve(std::int64_t position, Row& row) {
    // Most rows have no name, wait for no row, and no row waits for them.
    return (row.id.empty() && row.after_ids.empty() && (named_ || known_.empty())) ||
           resolve_names(position, row);
  }
  /// Waits for names that no row had.
  [[nodiscard]] std::int64_t unknown() const;

 private:
  struct Known {
    std::int64_t position{-1};             ///< -1 = no row had this name yet
    std::vector<std::int64_t> awaited_by;  ///< earlier rows that wait for it, until it comes
  };
  bool resolve_names(std::int64_t position, Row& row);

  bool named_{false};  ///< rows have names; before the first row with a name, numbers serve as names
  std::unordered_map<std::string, Known> known_;
};

}  // namespace kvplan::traces
