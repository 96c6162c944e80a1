// Calls of decode attention as rows of a table: CSV with the columns
//
//     gpu engine engine_version kernel batch kv_len q_heads kv_heads head_dim window kv_elem_bytes
//
// in any order, possibly with other columns between them; one row per line.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/kernels/decode_call.h"

namespace kvplan::cli {

/// The names in a row: of its device, engine and kernel.
struct DecodeRowNames {
  std::string gpu, engine, engine_version, kernel;
};

struct DecodeRow {
  DecodeRowNames names;
  kernels::DecodeCall call;
};

class DecodeRows {
 public:
  static constexpr std::size_t kColumns = 11;

  /// Errors: a required column that is missing or repeated, or a column that would be added to the rows.
  static Result<DecodeRows> open(std::string_view header);
  /// Errors, with the field: too few or too many cells, an invalid number, query heads that are not a multiple of KV
  /// heads.
  [[nodiscard]] Result<DecodeRow> read(std::string_view line) const;

 private:
  std::size_t cells_{0};
  std::array<std::size_t, kColumns> at_{};
};

}  // namespace kvplan::cli
