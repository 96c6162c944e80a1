// A plan: the answer to "how many GPUs, which, how split, and what would another number do". Plain values; plan_text.h
// and plan_json.h print them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/planner/target.h"
#include "simulator/scenario/vary.h"

namespace kvplan::planner {

struct TargetOutcome {
  Target target;
  TargetValue value;
  bool holds{false};
  /// Share of the limit that is left: 1 - tightness (target.h). Negative: missed. Absent: no value.
  std::optional<double> margin;
};

/// A deployment, and what came of it.
struct Option {
  std::vector<runs::Setting> settings;  ///< a scenario that runs it
  std::string device;                   ///< empty: the scenario has none
  std::int64_t tensor_ranks{1}, stages{1}, replicas{1};
  runs::Varied others;  ///< other values that the search chose
  std::int64_t gpus{1};
  std::optional<std::int64_t> nodes;  ///< absent without prices
  std::optional<double> cost_per_hour, cost_per_million_output_tokens;
  bool meets{false};
  bool overloaded{false};
  std::vector<TargetOutcome> targets;
  std::optional<double> met;  ///< target.h, met_fraction
  std::int64_t late{0};       ///< requests that are not in time
  /// Of the late ones: when the first and the last arrived, and the middle of the hour or tenth of the trace with the
  /// most; seconds since the first arrival. Absent: not known, or none is late.
  std::optional<double> late_from_s, late_to_s;
  std::optional<double> prefix_hit_share;
  std::int64_t preemptions{0};
  std::int64_t pool_tokens{0};  ///< of one replica
  /// Between which the server will log its pool; absent where the derivation has no interval.
  std::optional<std::int64_t> pool_low_tokens, pool_high_tokens;

  /// "8 h100-sxm: 2 replicas of tp=4".
  [[nodiscard]] std::string name() const;
};

/// A device kind without an answer.
struct Unmet {
  std::string device;
  std::string why;
};

/// A shape that no engine would start, or that cannot be placed.
struct Refusal {
  std::string shape;
  std::string why;
};

/// What keeps the answer from serving more.
struct Binding {
  std::string what;  ///< "decode bandwidth", "KV memory", ...
  double share{0};   ///< of what 10 % more of every resource together would gain for the tightest target
  double gain{0};    ///< relative change of the tightest target's value with 10 % more
  std::optional<double> when_s;  ///< the middle of the stretch in which most requests come near the limit
};

struct Headroom {
  double rate_scale{
      1};  ///< of the answer: the largest rate found that still meets the targets, in units of the plan's
  bool at_least{false};  ///< no larger rate was tried
};

/// What a constraint costs.
struct ConstraintPrice {
  Target target;                        ///< as it is
  Target relaxed;                       ///< 10 % looser
  std::optional<double> cost_per_hour;  ///< of the cheapest deployment then
  double saves_per_hour{0};
  std::int64_t saves_gpus{0};
  std::string with;  ///< that deployment
};

/// GPUs needed in a stretch of the trace.
struct DayPart {
  double begin_s{0};
  std::int64_t gpus{0};
};

/// How much of a limit is in use over the run, in equal parts of its time.
struct Pressure {
  std::string what;  ///< "KV memory", "max_seqs", "ttft.p99"
  /// Share of the limit in each part; for a target its value over the requests that arrive in the part, as a share of
  /// the limit. Absent: none arrives; infinite: the percentile did not complete.
  std::vector<std::optional<double>> shares;
};

/// A deployment that the search ran on the whole trace.
struct Tried {
  std::string name, device;
  double cost{0};             ///< an hour, or GPUs without prices
  std::optional<double> met;  ///< target.h, met_fraction
  bool meets{false}, overloaded{false};
};

/// What a rule of thumb would have bought.
struct Baseline {
  std::string name;
  std::string formula;  ///< with its numbers
  Option option;
};

/// Between which a value lies in 90 % of the resampled traffic.
struct Interval {
  double low{0}, high{0};
};

/// How much the answer depends on the recorded traffic: deployments run on other traffic of the same kind
/// (traces::resampled), all on the same.
struct TrafficDoubt {
  std::int64_t resamples{0};
  std::vector<std::optional<Interval>> targets;  ///< of the answer, parallel to its targets; absent: no value
  std::optional<Interval> met;
  /// Share of the resamples in which each meets the targets; absent: not run.
  double answer_meets{0};
  std::optional<double> fewer_meets, more_meets;
};

/// What a changed resource does to the decision.
struct Sensitivity {
  std::string what;         ///< "memory bandwidth", ...
  std::string change;       ///< "10 % less, 10 % more"
  double less{0}, more{0};  ///< of the tightest target as a share of its limit, with less and with more of it
  bool less_flips{false};   ///< with less of it the answer misses its targets
  bool more_flips{false};   ///< with more of it the next smaller deployment meets them
};

/// What starts the answer.
struct Exported {
  std::string form;      ///< "vllm", "kubernetes", ...
  std::string text;      ///< a command or a manifest
  std::string contract;  ///< what its servers must log
};

/// The answer at one rate.
struct RatePlan {
  std::string rate;  ///< workload.rate_scale
  std::optional<Option> best;
  std::optional<Option> fewer, more;
  std::string fewer_note;          ///< what `fewer` is, or why there is none
  std::vector<Option> runners_up;  ///< the best of every other device
  std::vector<Unmet> unmet;
  std::vector<std::string> ties;  ///< deployments of the same price
  std::vector<Binding> binding;
  std::optional<Headroom> headroom;
  std::vector<Tried> tried;        ///< by shape and replicas
  std::vector<Pressure> pressure;  ///< of the answer's run
  double pressure_part_s{0};       ///< length of a part of `pressure`
  /// The answer's run, with a timeline; null: it was not run again (interrupted).
  std::shared_ptr<const runs::RunResult> run;
  std::vector<ConstraintPrice> constraint_prices;
  std::optional<TrafficDoubt> traffic;
  double tightest{0};                    ///< of the answer: its tightest target as a share of the limit
  std::vector<Sensitivity> sensitivity;  ///< the largest effect first
  std::vector<DayPart> day;
  std::optional<double> day_gpu_hours;    ///< of `day` over the trace
  std::optional<double> fixed_gpu_hours;  ///< of the answer over the trace
  std::vector<Baseline> baselines;
  std::vector<std::string> doubts;
  std::optional<Exported> exported;  ///< set where an export is asked for (simulator/launch)
};

/// A step of the search, in words.
struct PathStep {
  std::int64_t number{0};  ///< in the database
  std::string name, why, outcome;
};

struct Plan {
  std::string trace;
  std::int64_t requests{0};
  std::string model;
  std::string currency;  ///< empty: no price list; then GPUs count as the price
  double start_up_s{0};
  std::vector<Target> targets;
  std::vector<RatePlan> rates;
  std::vector<Refusal> refused;
  std::vector<std::string> assumptions, notes;
  std::vector<PathStep> path;
  bool interrupted{false};
};

}  // namespace kvplan::planner
