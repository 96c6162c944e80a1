#include "simulator/kernels/kind_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "simulator/kernels/kinds/rates.h"
#include "simulator/kernels/measured_devices.h"
#include "simulator/kernels/measured_engines.h"
#include "simulator/kernels/packed_tables.h"
#include "simulator/kernels/table_index.h"

namespace kvplan::kernels {
namespace {

using Points = std::vector<KindCurve::Point>;

/// Points of a row over the axis of its table, missing ones left out. The roofline is that of the device on which the
/// table was measured.
Points points_of(const TableIndex& index, std::size_t row, const KernelKind& kind,
                 const model::DeviceShape& measured_on) {
  const TimeTable& keys = index.keys();
  const std::vector<double> times = index.times(row);
  KernelCall call{keys.rows[row].key, keys.rows[row].numbers, 1};
  Points out;
  out.reserve(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (std::isnan(times[i])) continue;
    call.at = keys.axis[i];
    out.push_back({call.at, std::log(call.at), std::log(times[i] / kind.roofline(call, measured_on))});
  }
  return out;
}

/// Linear in the logarithm of `at`; level beyond the ends. REQUIRES: points.
double share_at(const Points& points, double at, double log_at) {
  const auto above = std::lower_bound(points.begin(), points.end(), at,
                                      [](const KindCurve::Point& p, double value) { return p.at < value; });
  if (above == points.end()) return points.back().log_share;
  if (above->at == at || above == points.begin()) return above->log_share;
  const KindCurve::Point& below = *(above - 1);
  return below.log_share +
         (log_at - below.log_at) / (above->log_at - below.log_at) * (above->log_share - below.log_share);
}

/// The weighted mean of rows, at every value of the axis.
Points mean_of(const TableIndex& index, const RowsAround& around, const KernelKind& kind,
               const model::DeviceShape& measured_on) {
  std::vector<std::pair<double, Points>> rows;
  double weights = 0;
  for (const RowWeight& each : around.rows) {
    Points points = points_of(index, each.row, kind, measured_on);
    if (points.empty()) continue;
    weights += each.weight;
    rows.emplace_back(each.weight, std::move(points));
  }
  if (rows.empty()) return {};
  if (rows.size() == 1) return std::move(rows.front().second);
  Points out;
  for (const double at : index.keys().axis) {
    KindCurve::Point point{at, std::log(at), 0};
    for (const auto& [weight, points] : rows)
      point.log_share += weight / weights * share_at(points, at, point.log_at);
    out.push_back(point);
  }
  return out;
}

/// Looks for a table that tells of a key.
class Search {
 public:
  Search(const KernelKind& kind, const CurveWish& wish, std::vector<std::string> key)
      : kind_(kind), wish_(wish), key_(std::move(key)), numbers_(numbers_in(key_)) {}

  KindCurve curve() {
    KindCurve found = without_launches();
    if (origin_.engine.empty() && launched_) {  // better than a data sheet
      takes_launched_ = true;
      return without_launches();
    }
    return found;
  }

 private:
  KindCurve without_launches() {
    const std::vector<std::string> own = names_in_tables(wish_.device);
    for (const std::string_view dtype : dtypes_like(key_[0]))
      if (in_engines(own, wish_.device, dtype)) return made();
    for (const std::string_view dtype : dtypes_like(key_[0]))
      for (const MeasuredDevice* device : by_likeness(wish_.device)) {
        const std::vector<std::string> names{std::string(device->gpu)};
        origin_.other_device = true;
        if (in_engines(names, device->shape(), dtype)) return made();
      }
    origin_ = {};
    points_.clear();
    return made();
  }

  KindCurve made() { return {kind_, wish_.device, key_, std::move(points_), origin_}; }

  bool in_engines(const std::vector<std::string>& names, const model::DeviceShape& measured_on,
                  std::string_view dtype) {
    for (const bool alike : {false, true}) {
      alike_ = alike || !kind_.shape_before_engine;
      if (in_table(names, measured_on, wish_.engine, dtype)) return true;
      for (const std::string_view engine : kMeasuredEngines)
        if (engine != wish_.engine && in_table(names, measured_on, engine, dtype)) return true;
      if (alike_) return false;
    }
    return false;
  }

  bool in_table(const std::vector<std::string>& names, const model::DeviceShape& measured_on,
                std::string_view engine, std::string_view dtype) {
    const PackedTable* const packed = find_packed(kind_.files, names, engine, wish_.engine_version);
    if (packed == nullptr) return false;
    const TableIndex& index = index_of(*packed, kind_);
    if (kind_.launched_us > 0 && !takes_launched_ && was_launched(index, dtype)) {
      launched_ = true;
      return false;
    }
    std::vector<std::string> key = key_;
    key[0] = dtype;
    RowsAround around;
    TimeSource source = TimeSource::kTable;
    if (const TimeRow* const row = index.keys().find(key)) {
      around.rows.push_back({static_cast<std::size_t>(row - index.keys().rows.data()), 1});
    } else if (kind_.around != nullptr) {
      around = kind_.around(index.keys(), key, numbers_);
      source = around.outside ? TimeSource::kExtrapolated : TimeSource::kInterpolated;
    }
    if (around.rows.empty() && alike_) {
      around = rows_alike(index.keys(), kind_, key, numbers_);
      source = TimeSource::kExtrapolated;
    }
    points_ = mean_of(index, around, kind_, measured_on);
    if (points_.empty()) return false;
    origin_.engine = engine;
    origin_.engine_version = packed->engine_version;
    origin_.gpu = packed->gpu;
    origin_.dtype = dtype;
    origin_.other_engine = engine != wish_.engine;
    origin_.other_dtype = dtype != key_[0];
    const bool other = origin_.other_device || origin_.other_engine || origin_.other_dtype;
    origin_.source = other ? TimeSource::kExtrapolated : source;
    return true;
  }

  /// The first row of a dtype has its smallest shape.
  [[nodiscard]] bool was_launched(const TableIndex& index, std::string_view dtype) const {
    const std::vector<TimeRow>& rows = index.keys().rows;
    const auto first =
        std::find_if(rows.begin(), rows.end(), [&](const TimeRow& row) { return row.key[0] == dtype; });
    if (first == rows.end()) return false;
    const std::vector<double> times = index.times(static_cast<std::size_t>(first - rows.begin()));
    return std::none_of(times.begin(), times.end(), [&](double us) { return us <= kind_.launched_us; });
  }

  const KernelKind& kind_;
  const CurveWish& wish_;
  std::vector<std::string> key_;
  std::vector<double> numbers_;
  bool launched_{false}, takes_launched_{false};
  bool alike_{true};  ///< similar shapes count
  Points points_;
  CurveOrigin origin_;
};

}  // namespace

KindCurve::KindCurve(const KernelKind& kind, const model::DeviceShape& device, std::vector<std::string> key,
                     std::vector<Point> points, CurveOrigin origin)
    : kind_(&kind),
      device_(&device),
      key_(std::move(key)),
      numbers_(numbers_in(key_)),
      points_(std::move(points)),
      origin_(std::move(origin)) {}

double KindCurve::operator()(double at) const {
  const double roof = kind_->roofline({key_, numbers_, at}, *device_);
  return points_.empty() ? roof : roof * std::exp(share_at(points_, at, std::log(at)));
}

KindCurve nearest_curve(const KernelKind& kind, const CurveWish& wish, std::vector<std::string> key) {
  return Search(kind, wish, std::move(key)).curve();
}

bool was_measured(const KernelKind& kind, const model::DeviceShape& device) {
  const std::vector<std::string> names = names_in_tables(device);
  return std::any_of(kMeasuredEngines.begin(), kMeasuredEngines.end(), [&](std::string_view engine) {
    return find_packed(kind.files, names, engine, {}) != nullptr;
  });
}

}  // namespace kvplan::kernels
