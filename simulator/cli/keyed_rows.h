// Rows of a CSV table in which a command finds columns by name: columns may be in any order, with others between them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::cli {

class KeyedRows {
 public:
  /// `names`: the requested columns. `added`: columns that the command appends, which must not exist. Errors (field):
  /// a column that is missing or repeated, or one of `added`.
  static Result<KeyedRows> open(std::string_view header, const std::vector<std::string_view>& names,
                                const std::vector<std::string_view>& added);
  /// The values of the columns, in the order of `names`. Errors: too few or too many cells.
  [[nodiscard]] Result<std::vector<std::string>> read(std::string_view line) const;

 private:
  std::size_t cells_{0};
  std::vector<std::size_t> at_;
};

}  // namespace kvplan::cli
