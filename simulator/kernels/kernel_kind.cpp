#include "simulator/kernels/kernel_kind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "simulator/base/number_input.h"
#include "simulator/kernels/measured_devices.h"
#include "simulator/kernels/packed_tables.h"

namespace kvplan::kernels {
namespace {

constexpr std::int64_t kMostNumber = std::int64_t{1} << 40;

/// Measured points of a row: position, and the logarithm of time over roofline.
struct Point {
  double at{0}, us{0}, log_share{0};
};

std::vector<Point> points_of(const TimeTable& table, const TimeRow& row, const KernelKind& kind,
                             const model::DeviceShape& device) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < table.axis.size(); ++i) {
    if (std::isnan(row.us[i])) continue;
    const double roof = kind.roofline({row.key, row.numbers, table.axis[i]}, device);
    points.push_back({table.axis[i], row.us[i], std::log(row.us[i] / roof)});
  }
  return points;
}

/// Distance of a row's numbers from a call's, in weighted factors of two; nothing if texts differ.
std::optional<double> distance(const KernelKind& kind, const TimeRow& row,
                               const std::vector<std::string>& key, const std::vector<double>& numbers) {
  double sum = 0;
  for (std::size_t i = 0; i < kind.columns.size(); ++i) {
    const KeyColumn& column = kind.columns[i];
    if (column.form != KeyForm::kNumber) {
      if (row.key[i] != key[i]) return std::nullopt;
      continue;
    }
    const double steps = column.weight * std::log2(row.numbers[i] / numbers[i]);
    sum += steps * steps;
  }
  return std::sqrt(sum);
}

}  // namespace

std::vector<std::string_view> column_names(const KernelKind& kind) {
  std::vector<std::string_view> names;
  for (const KeyColumn& column : kind.columns) names.push_back(column.name);
  return names;
}

std::span<const KernelKind* const> kernel_kinds() {
  static const std::array<const KernelKind*, 4> kKinds{&all_reduce_kind(), &gemm_kind(), &moe_kind(),
                                                       &prefill_attention_kind()};
  return kKinds;
}

const KernelKind* find_kernel_kind(std::string_view name) {
  for (const KernelKind* kind : kernel_kinds())
    if (kind->name == name) return kind;
  return nullptr;
}

Status check_key(const KernelKind& kind, const std::vector<std::string>& key) {
  for (std::size_t i = 0; i < kind.columns.size(); ++i) {
    if (kind.columns[i].form == KeyForm::kText) continue;
    const std::int64_t least = kind.columns[i].form == KeyForm::kNumber ? 1 : 0;
    const auto number = read_whole_number(key[i], {least, kMostNumber});
    if (!number.ok()) return Error(number.error()).at_field(kind.columns[i].name);
  }
  return Done{};
}

KindTimes::KindTimes(const KernelKind& kind, const model::DeviceShape& device, std::string_view engine,
                     std::string_view engine_version)
    : kind_(kind), device_(device) {
  const std::vector<std::string> names = names_in_tables(device);
  const PackedTable* const packed = find_packed(kind.files, names, engine, engine_version);
  if (packed == nullptr) return;
  table_ = parse_time_table(unpack(*packed), column_names(kind), std::string(packed->file)).value();
  version_ = packed->engine_version;
}

KindTimes::KindTimes(const KernelKind& kind, const model::DeviceShape& device, const TimeTable* table)
    : kind_(kind), device_(device) {
  if (table != nullptr) table_ = *table;
}

SourcedTime KindTimes::operator()(const KernelCall& call) const {
  if (table_) {
    if (const TimeRow* const row = table_->find(call.key))
      if (const auto time = time_in_row(*table_, *row, kind_, call.at, device_)) return *time;
    if (kind_.between != nullptr) {
      const SourcedTime time = kind_.between(*table_, call, device_);
      if (time.source != TimeSource::kRoofline) return time;
    }
    if (const auto time = time_of_alike(*table_, kind_, call, device_)) return *time;
  }
  return {kind_.roofline(call, device_), TimeSource::kRoofline};
}

std::optional<SourcedTime> time_in_row(const TimeTable& table, const TimeRow& row, const KernelKind& kind,
                                       double at, const model::DeviceShape& device) {
  const std::vector<Point> points = points_of(table, row, kind, device);
  if (points.empty()) return std::nullopt;
  const auto above = std::lower_bound(points.begin(), points.end(), at,
                                      [](const Point& p, double value) { return p.at < value; });
  if (above != points.end() && above->at == at) return SourcedTime{above->us, TimeSource::kTable};
  const double roof = kind.roofline({row.key, row.numbers, at}, device);
  if (above == points.begin() || above == points.end()) {
    const Point& edge = above == points.begin() ? points.front() : points.back();
    return SourcedTime{roof * std::exp(edge.log_share), TimeSource::kExtrapolated};
  }
  const Point& below = *(above - 1);
  const double way = std::log(at / below.at) / std::log(above->at / below.at);
  return SourcedTime{roof * std::exp(below.log_share + way * (above->log_share - below.log_share)),
                     TimeSource::kInterpolated};
}

RowsAround rows_alike(const TimeTable& table, const KernelKind& kind, const std::vector<std::string>& key,
                      const std::vector<double>& numbers, std::size_t most) {
  std::vector<RowWeight> near;  // by distance at first
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (const auto far = distance(kind, table.rows[i], key, numbers)) near.push_back({i, *far});
  const auto nearer = [](const RowWeight& a, const RowWeight& b) {
    return std::pair(a.weight, a.row) < std::pair(b.weight, b.row);
  };
  if (near.size() > most) {
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(most), near.end(), nearer);
    near.resize(most);
  } else {
    std::sort(near.begin(), near.end(), nearer);
  }
  // The fourth power: the nearest row counts most, and two equally near rows count the same.
  for (RowWeight& each : near) each.weight = 1 / (1e-9 + std::pow(each.weight, 4));
  return {std::move(near), true};
}

std::optional<SourcedTime> time_of_alike(const TimeTable& table, const KernelKind& kind,
                                         const KernelCall& call, const model::DeviceShape& device) {
  double weights = 0, sum = 0;
  std::size_t used = 0;
  for (const RowWeight& each : rows_alike(table, kind, call.key, call.numbers, table.rows.size()).rows) {
    if (used == kMostAlike) break;
    const TimeRow& row = table.rows[each.row];
    const auto time = time_in_row(table, row, kind, call.at, device);
    if (!time) continue;
    sum += each.weight * std::log(time->us / kind.roofline({row.key, row.numbers, call.at}, device));
    weights += each.weight;
    ++used;
  }
  if (used == 0) return std::nullopt;
  return SourcedTime{kind.roofline(call, device) * std::exp(sum / weights), TimeSource::kExtrapolated};
}

}  // namespace kvplan::kernels
