// A packed table of which only the keys are read: steps use the times of a handful of rows.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/kernels/kernel_kind.h"
#include "simulator/kernels/packed_tables.h"

namespace kvplan::kernels {

class TableIndex {
 public:
  /// Of the program's own tables: stops the program if the text is broken.
  TableIndex(const PackedTable& packed, const KernelKind& kind);
  TableIndex(const TableIndex&) = delete;
  TableIndex& operator=(const TableIndex&) = delete;

  /// Rows without times.
  [[nodiscard]] const TimeTable& keys() const { return keys_; }
  /// Times of a row, by the axis; NaN if not measured.
  [[nodiscard]] std::vector<double> times(std::size_t row) const;

 private:
  std::string text_;
  TimeTable keys_;
  std::vector<std::string_view> times_;  ///< of `text_`, by row
};

/// Read once for each process; any thread may ask.
const TableIndex& index_of(const PackedTable& packed, const KernelKind& kind);

}  // namespace kvplan::kernels
