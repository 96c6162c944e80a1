#include "validator/run/kernel_calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "validator/kernels/time_rows.h"
#include "validator/run/kernel_times.h"

namespace kvplan::validator {
namespace {

constexpr double kCoarseShare = 0.6, kUnseenShare = 0.25;
constexpr std::string_view kDecodeAttention = "decode-attention";

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", share * 100);
  return text.data();
}

/// Fills `predicted_ns` and `errors`.
Status predict(const MachineFacts& machine, KernelCalibration& out) {
  KVPLAN_TRY(const io::Calibration read, io::parse_calibration(out.json(machine), "calibration"));
  KVPLAN_TRY(KernelTimes times, KernelTimes::of_calibration(read, "calibration"));
  for (const TimedRow& row : out.rows) times.add(row);
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> both;  // by kernel
  std::map<std::string, std::int64_t> asked;
  for (const TimedRow& row : out.unseen) {
    const Case& of = row.of;
    const auto predicted = times(of);
    const std::optional<double> told = predicted ? std::optional(predicted->ns) : std::nullopt;
    out.predicted_ns.push_back(told);
    ++asked[of.kernel];
    if (!told) continue;
    both[of.kernel].first.push_back(*told);
    both[of.kernel].second.push_back(row.timing.ns.median);
  }
  for (const auto& [kernel, values] : both) {
    UnseenErrors& own = out.errors.emplace_back();
    own.kernel = kernel;
    own.method = kernel == kDecodeAttention
                     ? "no formula: measured times, between them as latency=composed looks them up"
                     : "no formula: measured times, between them linear in batch x length";
    own.errors = prediction_errors(values.first, values.second);
    own.errors.rows = asked[kernel];
  }
  return Done{};
}

}  // namespace

CalibrationCases usual_cases(const MachineFacts& machine, const std::string& kernel) {
  return {cases_in_turn(CaseSet::kCoarse, machine, kernel), cases_in_turn(CaseSet::kUnseen, machine, kernel),
          cases_in_turn(CaseSet::kFine, machine, kernel)};
}

std::string KernelCalibration::json(const MachineFacts& machine, std::vector<MeasuredTable> tables) const {
  // A kernel may have rows outside the grid only.
  std::set<std::string_view> kernels;
  for (const TimedRow& row : rows) kernels.insert(row.of.kernel);
  BesideRows beside{.tables = std::move(tables)};
  for (const UnseenErrors& each : errors)
    if (kernels.contains(each.kernel)) beside.errors.push_back(each);
  return calibration_json(machine, facts, rows, sampling, beside);
}

std::vector<std::string> KernelCalibration::text() const {
  std::vector<std::string> lines{
      std::to_string(rows.size()) + " rows in the calibration, " + std::to_string(unseen.size()) +
      " kept out of it, " + std::to_string(facts.rows_left) + " without time; drift " + percent(facts.drift)};
  for (const UnseenErrors& each : errors) {
    const PredictionErrors& e = each.errors;
    lines.push_back("predicted " + each.kernel + ": " + std::to_string(e.predicted) + " of " +
                    std::to_string(e.rows) + " rows; error: median " + percent(e.median) +
                    ", 90th percentile " + percent(e.p90) + ", worst " + percent(e.worst) + ", bias " +
                    percent(e.bias));
  }
  return lines;
}

Result<KernelCalibration> calibrate_kernels(Machine& machine, const CalibrationCases& cases,
                                            const CalibrationOptions& options) {
  KernelCalibration out;
  out.facts = {.stage = "calibrate", .when = options.when};
  out.sampling = usual_sampling(machine.facts(), options.quick);
  const double begin = now_s(), end = begin + options.seconds;
  const auto take = [&](const std::vector<Case>& all, double end_s, std::vector<TimedRow>& to) -> Status {
    if (all.empty()) return Done{};
    KVPLAN_TRY(TimedRows timed, time_rows(machine, all, out.sampling, end_s));
    for (TimedRow& row : timed.rows) to.push_back(std::move(row));
    out.facts.rows_left += timed.left;
    if (std::abs(timed.drift) > std::abs(out.facts.drift)) out.facts.drift = timed.drift;
    return Done{};
  };
  KVPLAN_TRY(out.facts.before, machine.telemetry());
  KVPLAN_TRY_DO(take(cases.coarse, begin + kCoarseShare * options.seconds, out.rows));
  KVPLAN_TRY_DO(take(cases.unseen, now_s() + kUnseenShare * std::max(0.0, end - now_s()), out.unseen));
  KVPLAN_TRY_DO(take(cases.fine, end, out.rows));
  KVPLAN_TRY(out.facts.after, machine.telemetry());
  out.facts.seconds = now_s() - begin;
  if (out.rows.empty()) return bad_input("no time for a single row").at_field("--seconds");
  KVPLAN_TRY_DO(predict(machine.facts(), out));
  return out;
}

}  // namespace kvplan::validator
