#include "simulator/kernels/decode_times.h"

#include <algorithm>
#include <tuple>

namespace kvplan::kernels {
namespace {

using Time = std::optional<SourcedTime>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes what leads `text`: digits without leading zeros, or one other character.
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

/// How far apart, as a factor of at least 1.
double ratio(double a, double b) {
  return std::max(a, b) / std::min(a, b);
}

Time read(const FilledGrid& grid, const DecodeCall& call, double length) {
  const GridHeads heads{call.kv_heads, call.q_heads / call.kv_heads};
  const auto curve = GridReader(grid).curve(static_cast<double>(call.batch), heads);
  if (!curve) return std::nullopt;
  return (*curve)(length);
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
        {table.head_dim, table.window, table.kv_elem_bytes, FilledGrid(table.grid, table.window)});
    if (std::find(kernels_.begin(), kernels_.end(), table.kernel) == kernels_.end())
      kernels_.push_back(table.kernel);
  }
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

Time DecodeTimes::in_own(const Table& table, const DecodeCall& call) const {
  const auto length = static_cast<double>(call.kv_len);
  const std::int64_t first = table.grid.axes().lengths.front();
  const Table* const whole = own_table(call, 0);
  if (table.window == 0 || call.kv_len >= first || first > table.window || whole == nullptr)
    return read(table.grid, call, length);
  const Time full = read(table.grid, call, static_cast<double>(first));
  const Time part = read(whole->grid, call, length);
  const Time of = read(whole->grid, call, static_cast<double>(first));
  if (!full || !part || !of) return full;
  return SourcedTime{full->us * (part->us / of->us), TimeSource::kExtrapolated};
}

Time DecodeTimes::operator()(const DecodeCall& call) const {
  Time time;
  if (const Table* const own = own_table(call, call.window)) {
    time = in_own(*own, call);
  } else if (const Table* const near = nearest_table(call)) {
    const std::int64_t seen = call.window > 0 ? std::min(call.kv_len, call.window) : call.kv_len;
    const double bytes = static_cast<double>(seen * call.head_dim) * call.kv_elem_bytes;
    time = read(near->grid, call, bytes / (static_cast<double>(near->head_dim) * near->kv_elem_bytes));
    if (time) time = time->but_no_surer_than(TimeSource::kExtrapolated);
  }
  if (time && other_version_) time = time->but_no_surer_than(TimeSource::kExtrapolated);
  return time;
}

}  // namespace kvplan::kernels
