#include "simulator/io/measured_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "simulator/core/latency.h"

namespace kvplan::io {
namespace {

constexpr std::string_view kTable = "step";

/// Text of a file, harmless to a terminal.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

struct Range {
  std::int64_t least{INT64_MAX}, most{0};
  void add(std::int64_t value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] std::string text(std::string_view what) const {
    return (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most) + std::string(what);
  }
};

std::string source_text(const Calibration& c) {
  const auto& s = c.software;
  std::string out = "on " + (c.device.name.empty() ? "a device without a name" : one_line(c.device.name));
  if (!s.driver.empty()) out += ", driver " + one_line(s.driver);
  if (!s.engine.empty())
    out += ", " + one_line(s.engine + (s.engine_version.empty() ? "" : " ") + s.engine_version);
  return out + ", " + one_line(c.when);
}

/// Number of different steps with several measurements.
std::size_t measured_again(const std::vector<latency::MeasuredStep>& steps) {
  std::map<std::array<std::int64_t, 3>, int> times;
  for (const latency::MeasuredStep& s : steps) ++times[{s.sequences, s.computed, s.context}];
  return static_cast<std::size_t>(
      std::count_if(times.begin(), times.end(), [](const auto& step) { return step.second > 1; }));
}

Error not_of_model(const CalibrationColumn& models, std::string_view model) {
  constexpr std::size_t kShown = 6;
  const std::set<std::string> names(models.texts.begin(), models.texts.end());
  std::string listed;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kShown) {
      listed += ", ...";
      break;
    }
    listed += (listed.empty() ? "" : ", ") + one_line(name);
  }
  return bad_input("expected steps of model " + std::string(model) + ", found steps of " + listed);
}

}  // namespace

Result<runs::MeasuredSteps> measured_steps(const Calibration& calibration, std::string_view model,
                                           const std::string& file) {
  const auto wrong = [&](Error error, std::string_view field) {
    return std::move(error).at_file(file).at_field(field);
  };
  const auto table = std::find_if(calibration.tables.begin(), calibration.tables.end(),
                                  [](const CalibrationTable& t) { return t.name == kTable; });
  if (table == calibration.tables.end())
    return wrong(bad_input("expected a table \"step\" with durations of whole steps, found none"), "tables");
  // The reader has checked that these columns exist.
  const std::vector<double>& sequences = table->column("sequences")->numbers;
  const std::vector<double>& computed = table->column("computed")->numbers;
  const std::vector<double>& context = table->column("context")->numbers;
  const std::vector<double>& median = table->column("median")->numbers;
  const CalibrationColumn* const models = table->column("model");
  if (models != nullptr && !models->is_text())
    return wrong(bad_input("expected model names, in a column with the unit text"), "step.model");

  constexpr double kMostNs = static_cast<double>(core::kLongestStepTicks) / static_cast<double>(kTicksPerNs);
  std::vector<latency::MeasuredStep> steps;
  Range of_sequences, of_computed, of_context;
  for (std::size_t i = 0; i < table->rows(); ++i) {
    if (models != nullptr && models->texts[i] != model) continue;
    const auto whole = [i](const std::vector<double>& column) {
      return static_cast<std::int64_t>(column[i]);
    };
    const std::string row = "step[" + std::to_string(i) + "]";
    if (whole(sequences) < 1) return wrong(bad_input("expected at least one sequence"), row + ".sequences");
    if (computed[i] < sequences[i])
      return wrong(bad_input("expected at least one token per sequence"), row + ".computed");
    if (median[i] > kMostNs) return wrong(bad_input("expected at most 13 days"), row + ".median");
    const auto ticks = static_cast<std::int64_t>(std::floor(median[i] * kTicksPerNs + 0.5));
    steps.push_back({whole(sequences), whole(computed), whole(context), Ticks{ticks}});
    of_sequences.add(whole(sequences));
    of_computed.add(whole(computed));
    of_context.add(whole(context));
  }
  if (steps.empty()) {
    if (models == nullptr) return wrong(bad_input("expected at least one step, found none"), "step");
    return wrong(not_of_model(*models, model), "step.model");
  }

  std::vector<std::string> assumptions;
  assumptions.push_back(
      "Step times were measured: " + std::to_string(steps.size()) +
      (steps.size() == 1 ? " step " : " steps ") +
      (models != nullptr ? "of " + one_line(std::string(model)) : "of a model that the file does not name") +
      " " + source_text(calibration) + ".");
  assumptions.push_back(
      "Steps of " + of_sequences.text(" sequences, ") + of_computed.text(" computed tokens and ") +
      of_context.text(" context tokens") +
      " were measured. kvplan interpolates linearly between them. Below the smallest measured step it uses "
      "that step's duration; above the largest it extrapolates from the last two.");
  if (const std::size_t again = measured_again(steps); again > 0)
    assumptions.push_back(
        std::to_string(again) +
        (again == 1 ? " step was measured more than once" : " steps were measured more than once") +
        ": kvplan uses the median duration, and of two durations the shorter one.");
  KVPLAN_TRY(latency::StepTable made, latency::StepTable::make(std::move(steps)));
  return runs::MeasuredSteps{std::move(made), std::move(assumptions)};
}

Result<runs::MeasuredSteps> open_measured_steps(const std::string& path, std::string_view model) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  KVPLAN_TRY(const Calibration calibration, read_calibration(*input));
  return measured_steps(calibration, model, path);
}

}  // namespace kvplan::io
