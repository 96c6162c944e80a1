#include "simulator/kernels/decode_times.h"

#include <algorithm>
#include <tuple>

namespace kvplan::kernels {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Removes the first part of `text` and returns it: digits without leading zeros, or one other character.
std::string_view take_part(std::string_view& text) {
  std::size_t size = 1;
  if (is_digit(text.front())) {
    while (size < text.size() && is_digit(text[size])) ++size;
  }
  std::string_view part = text.substr(0, size);
  text.remove_prefix(size);
  while (part.size() > 1 && part.front() == '0') part.remove_prefix(1);
  return part;
}

/// The ratio of the larger number to the smaller one, at least 1.
double ratio(double a, double b) {
  return std::max(a, b) / std::min(a, b);
}

std::optional<TimeCurve> curve_in(const FilledGrid& grid, const DecodeCall& call) {
  const GridHeads heads{call.kv_heads, call.q_heads / call.kv_heads};
  return GridReader(grid).curve(static_cast<double>(call.batch), heads);
}

/// Marks all knots, and with them all times in between, as extrapolated at best.
void extrapolate(TimeCurve& curve) {
  for (Knot& knot : curve.knots) knot.source = std::max(knot.source, TimeSource::kExtrapolated);
}

/// Makes the curve constant beyond `at`.
void end_at(TimeCurve& curve, double at) {
  const SourcedTime last = curve(at);
  while (curve.knots.back().at >= at && curve.knots.size() > 1) curve.knots.pop_back();
  if (curve.knots.back().at < at) curve.knots.push_back({at, last.us, last.source});
  curve.rise = 0;
}

}  // namespace

bool version_before(std::string_view first, std::string_view second) {
  while (!first.empty() && !second.empty()) {
    const std::string_view a = take_part(first), b = take_part(second);
    if (a == b) continue;
    if (is_digit(a.front()) && is_digit(b.front()) && a.size() != b.size()) return a.size() < b.size();
    return a < b;
  }
  return first.empty() && !second.empty();
}

DecodeTimes::DecodeTimes(std::span<const KernelTable> tables, const TableNames& names) {
  const auto asked = [&](const KernelTable& table) {
    return table.engine == names.engine &&
           std::find(names.gpu.begin(), names.gpu.end(), table.gpu) != names.gpu.end();
  };
  for (const KernelTable& table : tables) {
    if (!asked(table) || (!version_.empty() && version_ == names.engine_version)) continue;
    if (version_.empty() || table.engine_version == names.engine_version ||
        version_before(version_, table.engine_version))
      version_ = table.engine_version;
  }
  other_version_ = !names.engine_version.empty() && version_ != names.engine_version;
  for (const KernelTable& table : tables) {
    if (!asked(table) || table.engine_version != version_) continue;
    tables_.push_back(
        {table.head_dim, table.window, table.kv_elem_bytes, table.grid, std::make_unique<Filled>()});
    if (std::find(kernels_.begin(), kernels_.end(), table.kernel) == kernels_.end())
      kernels_.push_back(table.kernel);
  }
}

const FilledGrid& DecodeTimes::Table::grid() const {
  std::call_once(filled->once, [this] { filled->grid.emplace(measured, window); });
  return *filled->grid;
}

const DecodeTimes::Table* DecodeTimes::own_table(const DecodeCall& call, std::int64_t window) const {
  for (const Table& table : tables_)
    if (table.head_dim == call.head_dim && table.window == window &&
        table.kv_elem_bytes == call.kv_elem_bytes)
      return &table;
  return nullptr;
}

const DecodeTimes::Table* DecodeTimes::nearest_table(const DecodeCall& call) const {
  const auto distance = [&](const Table& table) {
    return std::tuple(ratio(table.kv_elem_bytes, call.kv_elem_bytes),
                      ratio(static_cast<double>(table.head_dim), static_cast<double>(call.head_dim)));
  };
  const Table* nearest = nullptr;
  for (const Table& table : tables_)
    if (table.window == 0 && (nearest == nullptr || distance(table) < distance(*nearest))) nearest = &table;
  return nearest;
}

DecodeTimes::Curve DecodeTimes::in_own(const Table& table, const DecodeCall& call) const {
  Curve curve = curve_in(table.grid(), call);
  const std::int64_t first = table.measured.axes().lengths.front();
  const Table* const whole = own_table(call, 0);
  if (!curve || table.window == 0 || first > table.window || whole == nullptr) return curve;
  const Curve part = curve_in(whole->grid(), call);
  if (!part) return curve;
  const auto at_first = static_cast<double>(first);
  const double full_us = (*curve)(at_first).us, of_us = (*part)(at_first).us;
  TimeCurve out;
  for (const Knot& knot : part->knots)
    if (knot.at < at_first)
      out.knots.push_back({knot.at, full_us * (knot.us / of_us), TimeSource::kExtrapolated});
  for (const Knot& knot : curve->knots)
    if (knot.at >= at_first) out.knots.push_back(knot);
  out.rise = curve->rise;
  return out;
}

DecodeTimes::Curve DecodeTimes::in_near(const Table& table, const DecodeCall& call) {
  Curve curve = curve_in(table.grid(), call);
  if (!curve) return curve;
  const double factor = static_cast<double>(call.head_dim) * call.kv_elem_bytes /
                        (static_cast<double>(table.head_dim) * table.kv_elem_bytes);
  for (Knot& knot : curve->knots) knot.at /= factor;
  curve->rise *= factor;
  extrapolate(*curve);
  if (call.window > 0) end_at(*curve, static_cast<double>(call.window));
  return curve;
}

std::optional<TimeCurve> DecodeTimes::curve(const DecodeCall& call) const {
  Curve curve;
  if (const Table* const own = own_table(call, call.window)) {
    curve = in_own(*own, call);
  } else if (const Table* const near = nearest_table(call)) {
    curve = in_near(*near, call);
  }
  if (curve && other_version_) extrapolate(*curve);
  return curve;
}

bool DecodeTimes::has_head_size(std::int64_t head_dim) const {
  return std::any_of(tables_.begin(), tables_.end(), [&](const Table& t) { return t.head_dim == head_dim; });
}

std::optional<SourcedTime> DecodeTimes::operator()(const DecodeCall& call) const {
  const auto times = curve(call);
  if (!times) return std::nullopt;
  return (*times)(static_cast<double>(call.kv_len));
}

DecodeTimes::Reach DecodeTimes::reach() const {
  Reach out;
  for (const Table& table : tables_) {
    const GridAxes& axes = table.measured.axes();
    out.batch = std::max(out.batch, axes.batches.back());
    out.first_length =
        out.first_length == 0 ? axes.lengths.front() : std::min(out.first_length, axes.lengths.front());
    out.last_length = std::max(out.last_length, axes.lengths.back());
  }
  return out;
}

}  // namespace kvplan::kernels
