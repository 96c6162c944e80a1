#include <algorithm>

#include "proto/validation.pb.h"
#include "simulator/base/version.h"
#include "validator/run/validation_report.h"

namespace kvplan::validator {
namespace {

constexpr double kTicksPerS = 1e9 * static_cast<double>(kTicksPerNs);

void add_quantity(v1::Validation& to, const std::string& name, std::optional<double> predicted,
                  std::optional<double> measured, const char* unit) {
  v1::ValidatedQuantity& q = *to.add_quantities();
  q.set_name(name);
  if (predicted) q.set_predicted(*predicted);
  if (measured) q.set_measured(*measured);
  q.set_unit(unit);
}

void add_kernel(v1::Validation& to, const UnseenErrors& errors) {
  v1::ValidatedKernel& kernel = *to.add_kernels();
  const PredictionErrors& e = errors.errors;
  kernel.set_kernel(errors.kernel);
  kernel.set_calls(e.rows);
  kernel.set_predicted_calls(e.predicted);
  if (e.predicted == 0) return;
  kernel.set_median(e.median);
  kernel.set_p90(e.p90);
  kernel.set_p99(e.p99);
  kernel.set_worst(e.worst);
  kernel.set_mean(e.mean);
  kernel.set_bias(e.bias);
  kernel.set_mean_by_time(e.mean_by_time);
  kernel.set_rank_correlation(e.rank_correlation);
}

void add_step(v1::Validation& to, const MeasuredStep& measured) {
  const LoggedStep& step = measured.step;
  v1::ValidatedStep& out = *to.add_steps();
  out.set_step(step.index);
  out.set_replica(step.replica);
  out.set_time_s(static_cast<double>(step.time) / kTicksPerS);
  out.set_steps(step.steps);
  out.set_simulated_s(static_cast<double>(step.ticks) / static_cast<double>(step.steps) / kTicksPerS);
  out.set_requests(static_cast<std::int64_t>(step.decodes.size()));
  out.set_tokens(step.tokens());
  out.set_kept_fraction(step.tokens() > 0 ? step.kept() / static_cast<double>(step.tokens()) : 1);
  double predicted = 0, known = 0;
  bool all_predicted = !measured.kernels.empty(), all_measured = all_predicted;
  for (const MeasuredKernel& kernel : measured.kernels) {
    v1::ValidatedCall& call = *out.add_kernels();
    call.set_kernel(kernel.of.kernel);
    call.set_call(describe(kernel.of));
    call.set_calls(kernel.calls);
    const auto calls = static_cast<double>(kernel.calls);
    if (kernel.predicted) {
      call.set_predicted_ns(kernel.predicted->ns);
      call.set_source(std::string(kernel.predicted->source));
      predicted += calls * kernel.predicted->ns;
    }
    all_predicted = all_predicted && kernel.predicted.has_value();
    all_measured = all_measured && kernel.timing.has_value();
    if (!kernel.timing) continue;
    call.set_measured_ns(kernel.timing->ns.median);
    call.set_low_ns(kernel.timing->ns.low);
    call.set_high_ns(kernel.timing->ns.high);
    known += calls * kernel.timing->ns.median;
  }
  if (all_predicted) out.set_predicted_s(predicted / 1e9);
  if (all_measured) out.set_measured_s(known / 1e9);
}

void add_coverage(v1::Validation& to, const ValidatedRun& run) {
  v1::ValidationCoverage& coverage = *to.mutable_coverage();
  coverage.set_logged_steps(run.chosen.logged);
  coverage.set_decoding_steps(run.chosen.decoding);
  coverage.set_time_share(run.chosen.time_share);
  coverage.set_measured_steps(static_cast<std::int64_t>(run.measured.steps.size()));
  std::int64_t calls = 0, predicted = 0;
  for (const UnseenErrors& each : run.measured.errors) {
    calls += each.errors.rows;
    predicted += each.errors.predicted;
  }
  coverage.set_calls(calls);
  coverage.set_predicted_calls(predicted);
  coverage.set_calls_left(run.measured.calls_left);
}

}  // namespace

std::string ValidatedRun::verdict() const {
  if (!replayed.report.clean()) return verdict_of(replayed.report);
  if (measured.wrong > 0) return "kernels differ";
  for (const MethodError& method : measured.methods)
    if (std::abs(method.measured - method.predicted) > method.tolerance) return "errors differ";
  for (const UnseenErrors& each : measured.errors) {
    if (each.kernel != "decode-attention" || each.errors.predicted == 0) continue;
    if ((most_median > 0 && each.errors.median > most_median) || (most_p90 > 0 && each.errors.p90 > most_p90))
      return "times differ";
  }
  return "equal";
}

v1::Validation message_of(const ValidatedRun& run) {
  v1::Validation out;
  const Report& report = run.replayed.report;
  out.set_events(report.events);
  out.set_moments(report.moments);
  out.set_byte_mismatches(report.byte_mismatches);
  out.set_place_mismatches(report.place_mismatches);
  out.set_count_mismatches(report.count_mismatches);
  for (const Quantity& q : report.quantities)
    add_quantity(out, q.name, static_cast<double>(q.predicted), static_cast<double>(q.measured),
                 q.unit.c_str());
  const MeasuredRun& measured = run.measured;
  for (const UnseenErrors& each : measured.errors) {
    double predicted = 0, known = 0;
    for (const MeasuredStep& step : measured.steps)
      for (const MeasuredKernel& kernel : step.kernels) {
        if (kernel.of.kernel != each.kernel || !kernel.predicted || !kernel.timing) continue;
        predicted += kernel.predicted->ns * static_cast<double>(kernel.calls);
        known += kernel.timing->ns.median * static_cast<double>(kernel.calls);
      }
    if (known > 0) add_quantity(out, "kernels." + each.kernel, predicted, known, "ns");
  }
  if (measured.checked > 0) {
    add_quantity(out, "kernels.wrong", 0, static_cast<double>(measured.wrong), "cases");
    add_quantity(out, "kernels.error_of_tolerance", std::nullopt, measured.worst_of_tolerance, "ratio");
  }
  for (const MethodError& method : measured.methods) {
    v1::ValidatedMethod& to = *out.add_methods();
    to.set_step(method.step);
    to.set_call(method.of);
    to.set_predicted(method.predicted);
    to.set_measured(method.measured);
    add_quantity(out, "error.step_" + std::to_string(method.step), method.predicted, method.measured,
                 "ratio");
  }
  out.set_verdict(run.verdict());
  if (!report.clean())
    out.set_first_problem(report.first_problem);
  else if (!measured.first_problem.empty())
    out.set_first_problem(measured.first_problem);
  out.set_device(run.replayed.device);
  v1::ValidationMachine& machine = *out.mutable_machine();
  machine.set_name(run.machine.name);
  machine.set_driver(run.machine.driver);
  machine.set_toolkit(run.machine.toolkit);
  machine.set_kernel_build(run.machine.kernel_build);
  machine.set_calibration(run.calibration);
  machine.set_calibrated_rows(measured.calibrated_rows);
  machine.set_drift(measured.drift);
  add_coverage(out, run);
  for (const UnseenErrors& each : measured.errors) add_kernel(out, each);
  for (const MeasuredStep& step : measured.steps) add_step(out, step);
  v1::ValidatedScenario& scenario = *out.mutable_scenario();
  scenario.set_input(run.input);
  scenario.set_model(run.model);
  scenario.set_allocator(run.allocator);
  scenario.set_eviction(run.eviction);
  scenario.set_format(run.format);
  scenario.set_trace_digest(run.replayed.header.trace_digest);
  for (const std::string& note : run.notes) out.add_notes(note);
  out.set_made_by("kvplan-validate " + std::string(kVersion));
  out.set_when(run.when);
  return out;
}

}  // namespace kvplan::validator
