// Times of decode attention on one GPU with one engine, from its measured tables. A call is looked up
//
//   in its own table  of the same head size, window and element: measured calls exactly, others as in grid_reader.h.
//                     If the window hides nothing of the table's first length, a shorter length takes the same
//                     fraction of that time as without a window: the same tokens are read
//   in another table  if there is none: the table without a window with the nearest element, then the nearest head
//                     size, asked for the same bytes in each sequence and head; a window shows min(window, tokens).
//                     The source is kExtrapolated
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "simulator/kernels/decode_call.h"
#include "simulator/kernels/filled_grid.h"
#include "simulator/kernels/grid_reader.h"
#include "simulator/kernels/kernel_table.h"

namespace kvplan::kernels {

/// The tables that are asked for.
struct TableNames {
  std::vector<std::string> gpu;  ///< any of these names
  std::string engine;
  std::string engine_version;  ///< empty: the version that the tables have
};

class DecodeTimes {
 public:
  /// Selects the tables that `names` asks for; if there are none of this engine version, those of the latest version.
  /// Keeps no reference. Thread-safe.
  DecodeTimes(std::span<const KernelTable> tables, const TableNames& names);

  /// True: there is no table, so no call may be looked up.
  [[nodiscard]] bool empty() const { return tables_.empty(); }
  /// Version of the tables; empty if there is none.
  [[nodiscard]] const std::string& engine_version() const { return version_; }
  /// True: a table has heads of this size.
  [[nodiscard]] bool has_head_size(std::int64_t head_dim) const;
  /// Names of the kernels in the tables, without repetition.
  [[nodiscard]] const std::vector<std::string>& kernels() const { return kernels_; }

  /// The time of a call; nothing if no table helps. REQUIRES: positive members, a window or 0, q_heads a multiple of
  /// kv_heads.
  [[nodiscard]] std::optional<SourcedTime> operator()(const DecodeCall& call) const;
  /// The time of a call as a function of the cached tokens of a sequence; ignores call.kv_len.
  [[nodiscard]] std::optional<TimeCurve> curve(const DecodeCall& call) const;
  /// Largest batch and length measured in the tables.
  struct Reach {
    std::int64_t batch{0}, first_length{0}, last_length{0};
  };
  /// REQUIRES: not empty().
  [[nodiscard]] Reach reach() const;

 private:
  /// Filled at first use, because most tables are never used.
  struct Filled {
    std::once_flag once;
    std::optional<FilledGrid> grid;
  };
  struct Table {
    std::int64_t head_dim, window;
    double kv_elem_bytes;
    MeasuredGrid measured;
    std::unique_ptr<Filled> filled;

    [[nodiscard]] const FilledGrid& grid() const;
  };
  using Curve = std::optional<TimeCurve>;

  [[nodiscard]] const Table* own_table(const DecodeCall& call, std::int64_t window) const;
  [[nodiscard]] const Table* nearest_table(const DecodeCall& call) const;
  [[nodiscard]] Curve in_own(const Table& table, const DecodeCall& call) const;
  static Curve in_near(const Table& table, const DecodeCall& call);

  std::vector<Table> tables_;
  std::string version_;
  std::vector<std::string> kernels_;
  bool other_version_{false};
};

/// True: version `first` is before `second`; numbers in versions are compared by value, everything else as text.
bool version_before(std::string_view first, std::string_view second);

}  // namespace kvplan::kernels
