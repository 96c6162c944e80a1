#include "simulator/kernels/kernel_kind.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/base/number_input.h"
#include "simulator/kernels/packed_tables.h"

namespace kvplan::kernels {
namespace {

constexpr std::int64_t kMostNumber = std::int64_t{1} << 40;
constexpr std::size_t kMostAlike = 4;

std::vector<std::string> names_of(const model::DeviceShape& device) {
  std::vector<std::string> names = device.aliases;
  names.push_back(device.name);
  // Tables are named after the family of a device: "h100" of "h100-sxm".
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.push_back(lower);
    for (const std::string_view form : {"-sxm-80", "-sxm", "-server"})
      if (lower.ends_with(form)) out.push_back(lower.substr(0, lower.size() - form.size()));
  }
  return out;
}

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
std::optional<double> distance(const KernelKind& kind, const TimeRow& row, const KernelCall& call) {
  double sum = 0;
  for (std::size_t i = 0; i < kind.columns.size(); ++i) {
    const KeyColumn& column = kind.columns[i];
    if (column.form != KeyForm::kNumber) {
      if (row.key[i] != call.key[i]) return std::nullopt;
      continue;
    }
    const double steps = column.weight * std::log2(row.numbers[i] / call.numbers[i]);
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
  const std::vector<std::string> names = names_of(device);
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

std::optional<SourcedTime> time_of_alike(const TimeTable& table, const KernelKind& kind,
                                         const KernelCall& call, const model::DeviceShape& device) {
  struct Near {
    double distance;
    const TimeRow* row;
  };
  std::vector<Near> near;
  for (const TimeRow& row : table.rows)
    if (const auto far = distance(kind, row, call)) near.push_back({*far, &row});
  std::stable_sort(near.begin(), near.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  double weights = 0, sum = 0;
  std::size_t used = 0;
  for (const Near& each : near) {
    if (used == kMostAlike) break;
    const auto time = time_in_row(table, *each.row, kind, call.at, device);
    if (!time) continue;
    // The fourth power: the nearest row counts most, and two equally near rows count the same.
    const double weight = 1 / (1e-9 + std::pow(each.distance, 4));
    sum += weight * std::log(time->us / kind.roofline({each.row->key, each.row->numbers, call.at}, device));
    weights += weight;
    ++used;
  }
  if (used == 0) return std::nullopt;
  return SourcedTime{kind.roofline(call, device) * std::exp(sum / weights), TimeSource::kExtrapolated};
}

}  // namespace kvplan::kernels
