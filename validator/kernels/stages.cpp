#include "validator/kernels/stages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "simulator/base/program.h"
#include "validator/kernels/catalogue.h"
#include "validator/kernels/decode_attention.h"
#include "validator/kernels/measure.h"
#include "validator/kernels/memory_stage.h"
#include "validator/kernels/prediction.h"
#include "validator/kernels/stage_files.h"
#include "validator/kernels/time_rows.h"

namespace kvplan::validator {
namespace {

constexpr std::array<std::string_view, 7> kNames{"correctness", "coarse", "unseen",  "memory",
                                                 "fine",        "tune",   "sanitize"};
constexpr std::array<Stage, 5> kInOrder{Stage::kCorrectness, Stage::kCoarse, Stage::kUnseen, Stage::kMemory,
                                        Stage::kFine};
/// The share of the remaining time that a stage may take.
double share_of(Stage stage) {
  return stage == Stage::kCoarse ? 0.6 : stage == Stage::kUnseen ? 0.7 : 1.0;
}

std::string fixed(double x, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, x);
  return text.data();
}

class Stages {
 public:
  Stages(Machine& machine, const StageOptions& options, const std::function<void(const std::string&)>& say)
      : machine_(machine), options_(options), say_(say), end_s_(now_s() + options.seconds) {
    sampling_ = usual_sampling(machine.facts(), options.quick);
  }

  Result<bool> run() {
    std::vector<Stage> stages = options_.stages;
    if (stages.empty()) stages.assign(kInOrder.begin(), kInOrder.end());
    for (const Stage stage : stages) {
      std::error_code none;
      if (std::filesystem::exists(path_of(stage, ".json"), none)) {
        say_(std::string(name_of(stage)) + ": done before");
        continue;
      }
      if (now_s() >= end_s_) {
        say_(std::string(name_of(stage)) + ": no time left");
        continue;
      }
      KVPLAN_TRY_DO(run(stage));
    }
    return good_;
  }

 private:
  Status run(Stage stage) {
    facts_ = {.stage = std::string(name_of(stage)), .when = options_.when};
    KVPLAN_TRY(facts_.before, machine_.telemetry());
    begin_s_ = now_s();
    stage_end_s_ = begin_s_ + (end_s_ - begin_s_) * share_of(stage);
    switch (stage) {
      case Stage::kCorrectness:
        return check(stage, CaseSet::kCheck);
      case Stage::kSanitize:
        return check(stage, CaseSet::kSanitize);
      case Stage::kCoarse:
        return calibrate(stage, CaseSet::kCoarse);
      case Stage::kFine:
        return calibrate(stage, CaseSet::kFine);
      case Stage::kUnseen:
        return predict(stage);
      case Stage::kMemory:
        return watch_memory(stage);
      case Stage::kTune:
        return tune(stage);
    }
    return Done{};
  }

  [[nodiscard]] std::string path_of(Stage stage, const char* ending) const {
    return (std::filesystem::path(options_.folder) / (std::string(name_of(stage)) + ending)).string();
  }

  Status finish() {
    KVPLAN_TRY(facts_.after, machine_.telemetry());
    facts_.seconds = now_s() - begin_s_;
    return Done{};
  }

  Status check(Stage stage, CaseSet set) {
    std::vector<CheckedRow> rows;
    double worst = 0;
    std::int64_t wrong = 0;
    for (const Case& of : cases_in_turn(set, machine_.facts(), options_.kernel)) {
      if (interrupted()) return interrupted_error();
      KVPLAN_TRY(Checked checked, check_case(machine_, of));
      const Comparison& found = checked.comparison;
      if (!found.good) {
        ++wrong;
        say_("wrong: " + describe(of) + ": " + found.first_problem);
      }
      if (found.tolerance > 0) worst = std::max(worst, found.error / found.tolerance);
      rows.push_back({of, std::move(checked)});
    }
    KVPLAN_TRY_DO(finish());
    KVPLAN_TRY_DO(write_whole(path_of(stage, ".json"), checked_json(machine_.facts(), facts_, rows)));
    good_ = good_ && wrong == 0;
    say_(std::string(name_of(stage)) + ": " + std::to_string(rows.size()) + " cases, " +
         std::to_string(wrong) + " wrong; worst error " + fixed(worst * 100, 1) + " % of its tolerance; " +
         fixed(facts_.seconds, 1) + " s");
    return Done{};
  }

  Result<std::vector<TimedRow>> time_all(const std::vector<Case>& all) {
    KVPLAN_TRY(TimedRows timed, time_rows(machine_, all, sampling_, stage_end_s_));
    facts_.drift = timed.drift;
    facts_.rows_left = timed.left;
    return std::move(timed.rows);
  }

  void say_timed(Stage stage, std::size_t rows) {
    say_(std::string(name_of(stage)) + ": " + std::to_string(rows) + " rows, " +
         std::to_string(facts_.rows_left) + " left out; drift " + fixed(facts_.drift * 100, 2) + " %; " +
         fixed(facts_.seconds, 1) + " s");
  }

  Status calibrate(Stage stage, CaseSet set) {
    const std::vector<Case> all = cases_in_turn(set, machine_.facts(), options_.kernel);
    if (all.empty()) return Done{};
    KVPLAN_TRY(const std::vector<TimedRow> rows, time_all(all));
    KVPLAN_TRY_DO(finish());
    std::vector<GridRow> grid;
    for (const auto& [of, timing] : rows)
      grid.push_back({group_of(of), axes_of(of).batch, axes_of(of).length, timing.ns.median});
    KVPLAN_TRY_DO(write_whole(path_of(stage, "-rows.json"), timed_json(machine_.facts(), facts_, rows)));
    KVPLAN_TRY_DO(write_whole(path_of(stage, ".csv"), grid_text(grid)));
    KVPLAN_TRY_DO(
        write_whole(path_of(stage, ".json"), calibration_json(machine_.facts(), facts_, rows, sampling_)));
    say_timed(stage, rows.size());
    say_best(rows);
    return Done{};
  }

  /// Prints, for each kernel and kind of numbers, the rate of the row with the most bytes.
  void say_best(const std::vector<TimedRow>& rows) {
    std::map<std::string, const TimedRow*> best;
    for (const TimedRow& row : rows) {
      const TimedRow*& so_far = best[group_of(row.of)];
      if (so_far == nullptr || row.timing.roofline.bytes > so_far->timing.roofline.bytes) so_far = &row;
    }
    for (const auto& [group, row] : best) say_("  " + rate_text(*row));
  }

  [[nodiscard]] std::string rate_text(const TimedRow& row) const {
    const double rate = row.timing.roofline.bytes / row.timing.ns.median;  // GB/s
    const double peak = machine_.facts().peak_bandwidth;
    std::string text =
        describe(row.of) + ": " + fixed(row.timing.ns.median / 1e3, 1) + " us, " + fixed(rate, 0) + " GB/s";
    if (peak > 0) text += ", " + fixed(rate * 1e9 / peak, 3) + " of peak";
    return text;
  }

  Status predict(Stage stage) {
    KVPLAN_TRY(const std::vector<GridRow> known, read_grid(path_of(Stage::kCoarse, ".csv")));
    Grid grid;
    for (const GridRow& row : known) grid.add(row.group, {.batch = row.batch, .length = row.length}, row.ns);
    KVPLAN_TRY(const std::vector<TimedRow> rows,
               time_all(cases_in_turn(CaseSet::kUnseen, machine_.facts(), options_.kernel)));
    KVPLAN_TRY_DO(finish());
    JsonWriter json;
    json.begin_object();
    put_facts(json, machine_.facts(), facts_);
    json.key("rows").begin_array();
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> both;  // by kernel
    std::map<std::string, std::int64_t> asked;
    for (const auto& [of, timing] : rows) {
      const auto told = grid.predict(group_of(of), axes_of(of));
      json.begin_object();
      put_case(json, of);
      json.member("predicted_ns", told);
      put_timing(json, timing, machine_.facts());
      json.end_object();
      ++asked[of.kernel];
      if (!told) continue;
      both[of.kernel].first.push_back(*told);
      both[of.kernel].second.push_back(timing.ns.median);
    }
    json.end_array().key("errors").begin_array();
    say_timed(stage, rows.size());
    for (const auto& [kernel, values] : both) {
      const PredictionErrors errors = prediction_errors(values.first, values.second);
      json.begin_object()
          .member("kernel", kernel)
          .member("rows", asked[kernel])
          .member("predicted", errors.predicted);
      json.member("median", errors.median).member("p90", errors.p90).member("p99", errors.p99);
      json.member("worst", errors.worst).member("mean", errors.mean).member("bias", errors.bias);
      json.member("mean_by_time", errors.mean_by_time)
          .member("rank_correlation", errors.rank_correlation)
          .end_object();
      say_("  " + kernel + ": " + std::to_string(errors.predicted) + " of " + std::to_string(asked[kernel]) +
           " rows predicted, error median " + fixed(errors.median * 100, 2) + " %, P90 " +
           fixed(errors.p90 * 100, 2) + " %, worst " + fixed(errors.worst * 100, 1) + " %, bias " +
           fixed(errors.bias * 100, 2) + " %");
    }
    json.end_array().end_object();
    return write_whole(path_of(stage, ".json"), json.take());
  }

  Status watch_memory(Stage stage) {
    if (machine_.facts().shared_bytes == 0) {  // a host provides memory when it is first written
      say_("memory: only of a device");
      return Done{};
    }
    KVPLAN_TRY(const auto lines, memory_events(machine_));
    KVPLAN_TRY_DO(finish());
    JsonWriter json;
    json.begin_object();
    put_facts(json, machine_.facts(), facts_);
    put_memory_events(json, lines);
    json.end_object();
    KVPLAN_TRY_DO(write_whole(path_of(stage, ".json"), json.take()));
    for (const std::string& line : memory_text(lines)) say_("  " + line);
    return Done{};
  }

  Status tune(Stage stage) {
    KVPLAN_TRY(const std::vector<TimedRow> rows, time_all(tuning_cases(machine_.facts())));
    KVPLAN_TRY_DO(finish());
    KVPLAN_TRY_DO(write_whole(path_of(stage, ".json"), timed_json(machine_.facts(), facts_, rows)));
    say_timed(stage, rows.size());
    for (const TimedRow& row : rows) say_("  " + rate_text(row));
    return Done{};
  }

  Machine& machine_;
  const StageOptions& options_;
  const std::function<void(const std::string&)>& say_;
  Sampling sampling_;
  StageFacts facts_;
  double end_s_, begin_s_{0}, stage_end_s_{0};
  bool good_{true};
};

}  // namespace

Result<Stage> find_stage(std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == name) return static_cast<Stage>(i);
    names += (names.empty() ? "" : ", ") + std::string(kNames.at(i));
  }
  return bad_input("no stage \"" + std::string(name) + "\", expected one of " + names).at_field("--stage");
}

std::string_view name_of(Stage stage) {
  return kNames.at(static_cast<std::size_t>(stage));
}

Result<bool> run_stages(Machine& machine, const StageOptions& options,
                        const std::function<void(const std::string&)>& say) {
  return Stages(machine, options, say).run();
}

}  // namespace kvplan::validator
