// Times of decode attention on one GPU with one engine, from its measured tables. A call is read
//
//   in its own table  of the same head size, window and element: measured calls as they are, others as grid_reader.h
//                     says. Where its window hides nothing of the table's first length yet, shorter ones take the
//                     share of it that they take where there is no window: the same tokens are read
//   in another table  where there is none: that without a window of the nearest element, then the nearest head size,
//                     with as many bytes in each sequence and head; a window shows min(window, tokens). Extrapolated
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

/// Whose tables are asked for.
struct TableNames {
  std::vector<std::string> gpu;  ///< any of these
  std::string engine;
  std::string engine_version;  ///< empty: the one that the tables have
};

class DecodeTimes {
 public:
  /// Those of `tables` that are asked for; where none has this version of the engine, those of the last version that
  /// there is. Keeps no reference. May be asked by several threads.
  DecodeTimes(std::span<const KernelTable> tables, const TableNames& names);

  /// No table: nothing can be asked.
  [[nodiscard]] bool empty() const { return tables_.empty(); }
  /// Of the tables; empty where there is none.
  [[nodiscard]] const std::string& engine_version() const { return version_; }
  /// Does a table have heads of this size?
  [[nodiscard]] bool has_head_size(std::int64_t head_dim) const;
  /// Names of kernels in the tables, each once.
  [[nodiscard]] const std::vector<std::string>& kernels() const { return kernels_; }

  /// Nothing where no table says anything. REQUIRES: positive members, a window or 0, q_heads a multiple of kv_heads.
  [[nodiscard]] std::optional<SourcedTime> operator()(const DecodeCall& call) const;
  /// The same over the cached tokens of a sequence, whatever the call says of them.
  [[nodiscard]] std::optional<TimeCurve> curve(const DecodeCall& call) const;
  /// What the tables measured of batches and lengths, all of them together.
  struct Reach {
    std::int64_t batch{0}, first_length{0}, last_length{0};
  };
  /// REQUIRES: not empty().
  [[nodiscard]] Reach reach() const;

 private:
  /// Filled when it is first asked for: most tables never are.
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

/// `first` comes before `second` as versions do: numbers in them by value, all else as text.
bool version_before(std::string_view first, std::string_view second);

}  // namespace kvplan::kernels
