#include "validator/run/measured_steps.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/base/program.h"
#include "validator/kernels/comparison.h"
#include "validator/kernels/decode_attention.h"
#include "validator/kernels/time_rows.h"
#include "validator/run/kernel_calibration.h"

namespace kvplan::validator {
namespace {

constexpr std::string_view kDecodeAttention = "decode-attention";
/// References are computed token by token.
constexpr std::int64_t kCheckedTokens = 4096;

std::int64_t tokens_of(const Case& of) {
  std::int64_t sum = 0;
  for (const std::int64_t length : of.lengths) sum += length;
  return sum;
}

/// The same with shorter sequences, so that a reference can be computed.
Case shortened(Case of) {
  const std::int64_t tokens = tokens_of(of);
  if (tokens <= kCheckedTokens) return of;
  const std::int64_t sequences = std::min<std::int64_t>(of.sequences(), 16);
  of.lengths.resize(static_cast<std::size_t>(sequences));
  for (std::int64_t& length : of.lengths)
    length = std::clamp<std::int64_t>(length * kCheckedTokens / tokens, std::max<std::int64_t>(1, of.budget),
                                      kCheckedTokens / sequences);
  if (of.kernel == "quantise" || of.kernel == "dequantise") of.lengths = {kCheckedTokens / 32 * 32};
  if (of.window > 0) of.window = std::max<std::int64_t>(1, std::min(of.window, of.lengths.front() / 2));
  return of;
}

double relative(const std::vector<double>& a, const std::vector<double>& b) {
  double off = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off += (a[i] - b[i]) * (a[i] - b[i]);
    all += b[i] * b[i];
  }
  return all > 0 ? std::sqrt(off / all) : 0;
}

/// REQUIRES: a case of decode attention that reads only some of its tokens.
Result<MethodError> method_error(Machine& machine, const Case& of) {
  Case full = of;
  full.retained = Retained::kAll;
  full.kept_of_1000 = 1000;
  full.window = full.sinks = 0;
  const std::vector<std::uint16_t> queries = made_up_queries(of);
  KVPLAN_TRY(const DecodeCache part, make_decode_cache(of, Purpose::kCheck));
  KVPLAN_TRY(const DecodeCache whole, make_decode_cache(full, Purpose::kCheck));
  const DecodeReference of_part = decode_reference(of, part, queries);
  const DecodeReference of_whole = decode_reference(full, whole, queries);
  KVPLAN_TRY(const auto problem, make_decode_attention(of, Purpose::kCheck, machine.facts()));
  KVPLAN_TRY(const auto results, results_of(machine, *problem));
  const std::vector<float> rows = values_of(results.front(), query_numbers(of.stored));
  return MethodError{.of = describe(of),
                     .predicted = relative(of_part.rows, of_whole.rows),
                     .measured = relative({rows.begin(), rows.end()}, of_whole.rows),
                     .tolerance = 5e-3};
}

class Measuring {
 public:
  Measuring(Machine& machine, const MeasureOptions& options)
      : machine_(machine), options_(options), sampling_(usual_sampling(machine.facts(), options.quick)) {}

  Result<MeasuredRun> run(std::vector<LoggedStep> steps, const KernelShape& shape) {
    const double begin = now_s();
    std::vector<Case> cases;
    for (LoggedStep& step : steps) {
      MeasuredStep& own = out_.steps.emplace_back();
      for (KernelOfStep& kernel : kernels_of(step, shape)) {
        cases.push_back(kernel.of);
        own.kernels.push_back({std::move(kernel.of), kernel.calls, std::nullopt, std::nullopt});
      }
      own.step = std::move(step);
    }
    if (cases.empty()) return std::move(out_);
    KVPLAN_TRY(const KernelTimes times, calibrate(cases));
    for (MeasuredStep& step : out_.steps)
      for (MeasuredKernel& kernel : step.kernels) kernel.predicted = times(kernel.of);
    KVPLAN_TRY_DO(check());
    KVPLAN_TRY_DO(time(cases, begin + options_.seconds));
    tell_errors();
    return std::move(out_);
  }

 private:
  /// That of the file, or rows around the cases, none of which is one of them.
  Result<KernelTimes> calibrate(const std::vector<Case>& cases) {
    if (options_.calibration != nullptr)
      return KernelTimes::of_calibration(*options_.calibration, options_.calibration_file);
    std::vector<Case> grid = grid_around(cases, options_.most_bytes);
    std::erase_if(grid, [&](const Case& each) {
      return std::any_of(cases.begin(), cases.end(),
                         [&](const Case& c) { return describe(stand_in(c)) == describe(each); });
    });
    KVPLAN_TRY(const TimedRows timed, time_rows(machine_, grid, sampling_, now_s() + options_.seconds / 2));
    out_.drift = timed.drift;
    out_.calibrated_rows = static_cast<std::int64_t>(timed.rows.size());
    KernelTimes none;
    if (timed.rows.empty()) return none;
    const StageFacts facts{.stage = "run", .when = "1970-01-01T00:00:00Z"};
    KVPLAN_TRY(
        const io::Calibration made,
        io::parse_calibration(calibration_json(machine_.facts(), facts, timed.rows, sampling_), "run"));
    KVPLAN_TRY(KernelTimes times, KernelTimes::of_calibration(made, "run"));
    for (const TimedRow& row : timed.rows) times.add(row);
    return times;
  }

  /// Every kernel of every step, shortened where it is long; each case once.
  Status check() {
    std::map<std::string, bool> done;
    bool method = false;
    for (const MeasuredStep& step : out_.steps)
      for (const MeasuredKernel& kernel : step.kernels) {
        if (interrupted()) return interrupted_error();
        const Case of = shortened(kernel.of);
        if (!done.emplace(describe(of), true).second) continue;
        KVPLAN_TRY(const Checked checked, check_case(machine_, of));
        ++out_.checked;
        const Comparison& found = checked.comparison;
        if (!found.good) {
          if (out_.wrong++ == 0) out_.first_problem = describe(of) + ": " + found.first_problem;
        } else if (found.tolerance > 0) {
          out_.worst_of_tolerance = std::max(out_.worst_of_tolerance, found.error / found.tolerance);
        }
        if (method || of.kernel != kDecodeAttention || !reads_part(of)) continue;
        KVPLAN_TRY(MethodError error, method_error(machine_, of));
        error.step = step.step.index;
        out_.methods.push_back(std::move(error));
        method = out_.methods.size() >= 4;
      }
    return Done{};
  }
  static bool reads_part(const Case& of) {
    return of.retained != Retained::kAll ||
           (of.window > 0 && std::any_of(of.lengths.begin(), of.lengths.end(),
                                         [&](std::int64_t length) { return length > of.window + of.sinks; }));
  }

  Status time(const std::vector<Case>& cases, double end_s) {
    KVPLAN_TRY(TimedRows timed, time_rows(machine_, cases, sampling_, end_s));
    out_.calls_left = timed.left;
    std::size_t at = 0;
    for (MeasuredStep& step : out_.steps)
      for (MeasuredKernel& kernel : step.kernels)
        if (at < timed.rows.size()) kernel.timing = std::move(timed.rows[at++].timing);
    return Done{};
  }

  void tell_errors() {
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> both;
    std::map<std::string, std::int64_t> asked;
    for (const MeasuredStep& step : out_.steps)
      for (const MeasuredKernel& kernel : step.kernels) {
        if (!kernel.timing) continue;
        ++asked[kernel.of.kernel];
        if (!kernel.predicted) continue;
        both[kernel.of.kernel].first.push_back(kernel.predicted->ns);
        both[kernel.of.kernel].second.push_back(kernel.timing->ns.median);
      }
    for (const auto& [kernel, rows] : asked) {
      UnseenErrors& own = out_.errors.emplace_back();
      own.kernel = kernel;
      own.errors = prediction_errors(both[kernel].first, both[kernel].second);
      own.errors.rows = rows;
    }
  }

  Machine& machine_;
  const MeasureOptions& options_;
  Sampling sampling_;
  MeasuredRun out_;
};

}  // namespace

Result<MeasuredRun> measure_steps(Machine& machine, std::vector<LoggedStep> steps, const KernelShape& shape,
                                  const MeasureOptions& options) {
  return Measuring(machine, options).run(std::move(steps), shape);
}

}  // namespace kvplan::validator
