// Kinds of kernels with measured tables besides decode attention: matrix products, experts, all-reduce, prompt
// attention. A kind is a file in kinds/ and a line in kernel_kinds().
//
// Sources of a call's time, for every kind:
//
//   table         its shape and its tokens were measured
//   interpolated  its shape was measured, its tokens lie between measured ones; products also between measured n and k
//   extrapolated  beyond the measured tokens, or from similar shapes
//   roofline      no table of this engine on this GPU, or none of this dtype
//
// Interpolated is the logarithm of the time over the roofline of the same call: the roofline changes from
// memory-bound to compute-bound at the right place, so the ratio changes slowly (kinds/*.cpp have the rooflines).
// Beyond the table the last ratio is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/kernels/time_source.h"
#include "simulator/kernels/time_table.h"
#include "simulator/model/device.h"

namespace kvplan::kernels {

enum class KeyForm : std::uint8_t {
  kText,    ///< a name, such as a dtype
  kExact,   ///< a whole number, 0 included; rows with another value are not similar
  kNumber,  ///< a positive whole number, in which similar shapes may differ
};

struct KeyColumn {
  std::string_view name;
  KeyForm form{KeyForm::kText};
  double weight{1};  ///< of a factor of two, in the search for similar rows
};

/// One call: values of the key columns as in the tables, and the growing quantity. Keeps no copies.
struct KernelCall {
  const std::vector<std::string>& key;
  const std::vector<double>& numbers;  ///< numbers_in(key)
  double at{1};                        ///< tokens of a step, or elements of a message; positive
};

/// Rows of a table that together tell of a shape: the logarithms of their times over their rooflines, weighted.
struct RowWeight {
  std::size_t row{0};
  double weight{0};
};
struct RowsAround {
  std::vector<RowWeight> rows;  ///< none: the table tells nothing
  bool outside{false};          ///< true: the shape does not lie between them
};

struct KernelKind {
  std::string_view name;   ///< "gemm", as in kvplan latency --kernel
  std::string_view files;  ///< how the names of its tables begin
  std::span<const KeyColumn> columns;
  std::string_view axis;  ///< the column of `at`: "m", "tokens", "message_size"
  /// If no call of a dtype takes less, in microseconds, its table was timed with launches by the host. Servers launch
  /// such small work in CUDA graphs, so steps use another engine's table. 0: never.
  double launched_us{0};
  /// True: another engine's table of the same device that has the shape tells more than a similar shape.
  bool shape_before_engine{false};
  /// A time of the call from the device's figures, in microseconds; positive. REQUIRES: checked numbers.
  double (*roofline)(const KernelCall& call, const model::DeviceShape& device);
  /// For a call with a key that no row has: a time from the table. Null: only similar rows are used.
  SourcedTime (*between)(const TimeTable& table, const KernelCall& call, const model::DeviceShape& device);
  /// The rows that `between` uses; null with it.
  RowsAround (*around)(const TimeTable& table, const std::vector<std::string>& key,
                       const std::vector<double>& numbers);
};

/// All kinds, by name.
std::span<const KernelKind* const> kernel_kinds();
const KernelKind* find_kernel_kind(std::string_view name);

/// Names of its key columns, in their order.
std::vector<std::string_view> column_names(const KernelKind& kind);

/// Checks that number columns of a key have numbers. Errors (field): the value of a column.
Status check_key(const KernelKind& kind, const std::vector<std::string>& key);

/// Times of one kind on one GPU with one engine.
class KindTimes {
 public:
  /// Uses the tables of the program. Keeps references to the kind and the device.
  KindTimes(const KernelKind& kind, const model::DeviceShape& device, std::string_view engine,
            std::string_view engine_version);
  /// Uses the caller's table; null: none. For tests.
  KindTimes(const KernelKind& kind, const model::DeviceShape& device, const TimeTable* table);

  [[nodiscard]] bool has_table() const { return table_.has_value(); }
  [[nodiscard]] const std::string& engine_version() const { return version_; }
  /// REQUIRES: check_key, at > 0.
  [[nodiscard]] SourcedTime operator()(const KernelCall& call) const;

 private:
  const KernelKind& kind_;
  const model::DeviceShape& device_;
  std::optional<TimeTable> table_;
  std::string version_;
};

// For kinds:

/// The time of a row at `at`: measured, between two measured times, or beyond them with their ratio to the roofline.
/// `call`: the row's own key. Nothing if the row has no times.
std::optional<SourcedTime> time_in_row(const TimeTable& table, const TimeRow& row, const KernelKind& kind,
                                       double at, const model::DeviceShape& device);

/// Number of similar rows that are used.
inline constexpr std::size_t kMostAlike = 4;

/// The most similar rows: the same texts, and the nearest numbers.
RowsAround rows_alike(const TimeTable& table, const KernelKind& kind, const std::vector<std::string>& key,
                      const std::vector<double>& numbers, std::size_t most = kMostAlike);

/// From the most similar rows: the same texts, and the nearest numbers. Always extrapolated; nothing if no row has
/// these texts.
std::optional<SourcedTime> time_of_alike(const TimeTable& table, const KernelKind& kind,
                                         const KernelCall& call, const model::DeviceShape& device);

// kinds/*.cpp
const KernelKind& gemm_kind();
const KernelKind& moe_kind();
const KernelKind& all_reduce_kind();
const KernelKind& prefill_attention_kind();

}  // namespace kvplan::kernels
