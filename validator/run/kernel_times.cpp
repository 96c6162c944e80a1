#include "validator/run/kernel_times.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "simulator/io/measured_kernels.h"

namespace kvplan::validator {
namespace {

constexpr std::string_view kDecodeAttention = "decode-attention";

bool in_table(const Case& of) {
  return of.kernel == kDecodeAttention && of.retained == Retained::kAll && of.sinks == 0;
}

/// From `low` doubling up to at least `high`.
std::set<std::int64_t> doubling(std::int64_t low, std::int64_t high) {
  std::set<std::int64_t> out;
  std::int64_t at = 1;
  while (at * 2 <= low) at *= 2;
  for (; at < high; at *= 2) out.insert(at);
  out.insert(at);
  return out;
}

std::int64_t bytes_of_case(const Case& of) {
  const Axes at = axes_of(of);
  return static_cast<std::int64_t>(2 * at.batch * at.length * of.kv_heads * of.head_size *
                                   static_cast<double>(bytes_of(of.stored)));
}

struct Reach {
  std::int64_t least_batch{INT64_MAX}, most_batch{0}, least_length{INT64_MAX}, most_length{0};
  const Case* of{nullptr};

  void add(const Case& each) {
    const Axes at = axes_of(each);
    const auto batch = static_cast<std::int64_t>(at.batch);
    least_batch = std::min(least_batch, batch);
    most_batch = std::max(most_batch, batch);
    least_length = std::min(least_length, static_cast<std::int64_t>(at.length));
    most_length = std::max(most_length, static_cast<std::int64_t>(std::ceil(at.length)));
    of = &each;
  }
};

}  // namespace

Result<KernelTimes> KernelTimes::of_calibration(const io::Calibration& calibration, const std::string& file) {
  KernelTimes out;
  for (const io::CalibrationTable& table : calibration.tables) {
    if (table.name == kDecodeAttention) {
      const auto measured = io::measured_kernels(calibration, file);
      // A calibration of retained sets alone has no table that a run could use.
      if (!measured.ok()) continue;
      const kernels::KernelTable& first = measured.value().tables.front();
      out.attention_ = std::make_unique<kernels::DecodeTimes>(
          measured.value().tables, kernels::TableNames{{first.gpu}, first.engine, {}});
      continue;
    }
    const io::CalibrationColumn* const what = table.column("what");
    const io::CalibrationColumn* const batch = table.column("batch");
    const io::CalibrationColumn* const length = table.column("length");
    const io::CalibrationColumn* const median = table.column("median");
    if (what == nullptr || !what->is_text() || batch == nullptr || length == nullptr || median == nullptr)
      continue;
    for (std::size_t i = 0; i < table.rows(); ++i)
      out.grid_.add(what->texts[i], {.batch = batch->numbers[i], .length = length->numbers[i]},
                    median->numbers[i]);
  }
  return out;
}

void KernelTimes::add(const TimedRow& row) {
  if (row.of.kernel == "swap" || (row.of.kernel == kDecodeAttention && !in_table(row.of)))
    grid_.add(group_of(row.of), axes_of(row.of), row.timing.ns.median);
}

std::optional<KernelTimes::Predicted> KernelTimes::operator()(const Case& asked) const {
  const Case of = stand_in(asked);
  if (!in_table(of)) {
    const auto ns = grid_.predict(group_of(of), axes_of(of));
    return ns ? std::optional(Predicted{*ns, "interpolated"}) : std::nullopt;
  }
  if (attention_ == nullptr) return std::nullopt;
  const auto curve = attention_->curve({.batch = of.sequences(),
                                        .kv_len = 1,
                                        .q_heads = of.query_heads,
                                        .kv_heads = of.kv_heads,
                                        .head_dim = of.head_size,
                                        .window = of.window,
                                        .kv_elem_bytes = static_cast<double>(bytes_of(of.stored))});
  if (!curve) return std::nullopt;
  const kernels::SourcedTime time = (*curve)(axes_of(of).length);
  return Predicted{time.us * 1e3, kernels::source_name(time.source)};
}

std::vector<Case> grid_around(const std::vector<Case>& asked, std::int64_t most_bytes) {
  std::map<std::string, std::vector<Case>> kinds;
  for (const Case& each : asked) {
    Case of = stand_in(each);
    const std::string group = group_of(of);
    kinds[group].push_back(std::move(of));
  }
  std::vector<std::vector<Case>> by_kind;
  std::size_t longest = 0;
  for (const auto& [group, own] : kinds) {
    Reach reach;
    for (const Case& each : own) reach.add(each);
    std::vector<Case>& cases = by_kind.emplace_back();
    const auto batches = doubling(reach.least_batch, reach.most_batch);
    const auto lengths = doubling(reach.least_length, reach.most_length);
    // Corners first: a grid that is cut short still spans.
    for (const bool corner : {true, false})
      for (const std::int64_t batch : batches)
        for (const std::int64_t length : lengths) {
          const bool is_corner = (batch == *batches.begin() || batch == *batches.rbegin()) &&
                                 (length == *lengths.begin() || length == *lengths.rbegin());
          Case of = *reach.of;
          of.lengths = equal_lengths(batch, length);
          of.seed = 1;
          if (is_corner == corner && (cases.empty() || bytes_of_case(of) <= most_bytes))
            cases.push_back(std::move(of));
        }
    longest = std::max(longest, cases.size());
  }
  std::vector<Case> all;
  for (std::size_t i = 0; i < longest; ++i)
    for (std::vector<Case>& own : by_kind)
      if (i < own.size()) all.push_back(std::move(own[i]));
  return all;
}

}  // namespace kvplan::validator
