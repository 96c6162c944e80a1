#include "simulator/planner/plan_json.h"

#include <algorithm>
#include <functional>

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/planner/sure.h"
#include "simulator/results/report.h"

namespace kvplan::planner {
namespace {

/// The scenario of a deployment, resolved, so that it can be run as it stands.
void write_scenario_of(JsonWriter& json, const Option& option) {
  const auto scenario = runs::resolve(option.settings);
  if (!scenario.ok()) {
    json.member("scenario", std::optional<double>());
    return;
  }
  runs::write_scenario(json, scenario.value());
}

void write_target(JsonWriter& json, const Target& target) {
  json.member("name", target.name).member("limit", target.limit);
}

void write_option(JsonWriter& json, const Option& option) {
  json.begin_object().member("name", option.name());
  write_scenario_of(json, option);
  json.key("device");
  option.device.empty() ? json.null() : json.value(option.device);
  json.member("tp", option.tensor_ranks).member("pp", option.stages).member("replicas", option.replicas);
  json.key("others").begin_object();
  for (const auto& [path, value] : option.others) json.member(path, value);
  json.end_object();
  json.member("gpus", option.gpus)
      .member("nodes", option.nodes)
      .member("cost_per_hour", option.cost_per_hour);
  json.member("cost_per_million_output_tokens", option.cost_per_million_output_tokens);
  json.member("meets", option.meets).member("overloaded", option.overloaded);
  json.member("met_fraction", option.met).member("late_requests", option.late);
  json.member("late_from_s", option.late_from_s).member("late_to_s", option.late_to_s);
  json.key("targets").begin_array();
  for (const TargetOutcome& each : option.targets) {
    json.begin_object();
    write_target(json, each.target);
    json.member("value", each.value).member("margin", each.margin).member("holds", each.holds).end_object();
  }
  json.end_array();
  json.key("pool").begin_object().member("tokens", option.pool_tokens);
  json.member("low", option.pool_low_tokens).member("high", option.pool_high_tokens).end_object();
  json.member("prefix_hit_share", option.prefix_hit_share).member("preemptions", option.preemptions);
  json.end_object();
}

void write_maybe(JsonWriter& json, const char* key, const std::optional<Option>& option) {
  json.key(key);
  option ? write_option(json, *option) : static_cast<void>(json.null());
}

void write_around(JsonWriter& json, const RatePlan& rate) {
  json.key("binding").begin_array();
  for (const Binding& each : rate.binding)
    json.begin_object()
        .member("what", each.what)
        .member("share", each.share)
        .member("gain", each.gain)
        .member("when_s", each.when_s)
        .end_object();
  json.end_array();
  json.key("headroom");
  if (rate.headroom) {
    json.begin_object()
        .member("rate_scale", rate.headroom->rate_scale)
        .member("at_least", rate.headroom->at_least)
        .end_object();
  } else {
    json.null();
  }
  json.key("pressure").begin_object().member("part_s", rate.pressure_part_s).key("limits").begin_array();
  for (const Pressure& each : rate.pressure) {
    json.begin_object().member("what", each.what).key("shares").begin_array();
    for (const auto& share : each.shares) json.value(share);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  json.key("prices_of_constraints").begin_array();
  for (const ConstraintPrice& each : rate.constraint_prices) {
    json.begin_object();
    write_target(json, each.target);
    json.member("relaxed_limit", each.relaxed.limit).member("cost_per_hour", each.cost_per_hour);
    json.member("saves_per_hour", each.saves_per_hour).member("saves_gpus", each.saves_gpus);
    json.member("with", each.with).end_object();
  }
  json.end_array();
  json.key("day").begin_array();
  for (const DayPart& each : rate.day)
    json.begin_object().member("begin_s", each.begin_s).member("gpus", each.gpus).end_object();
  json.end_array();
  json.member("day_gpu_hours", rate.day_gpu_hours).member("fixed_gpu_hours", rate.fixed_gpu_hours);
  json.key("baselines").begin_array();
  for (const Baseline& each : rate.baselines) {
    json.begin_object().member("name", each.name).member("formula", each.formula).key("option");
    write_option(json, each.option);
    json.end_object();
  }
  json.end_array();
}

void write_interval(JsonWriter& json, const char* key, const std::optional<Interval>& interval) {
  json.key(key);
  if (interval) {
    json.begin_object().member("low", interval->low).member("high", interval->high).end_object();
  } else {
    json.null();
  }
}

void write_sureness(JsonWriter& json, const RatePlan& rate) {
  json.key("interval");
  if (rate.traffic) {
    const TrafficDoubt& doubt = *rate.traffic;
    json.begin_object().member("level", kLevel).member("resamples", doubt.resamples);
    json.key("targets").begin_array();
    for (std::size_t i = 0; i < doubt.targets.size(); ++i) {
      json.begin_object();
      write_target(json, rate.best->targets[i].target);
      const auto& interval = doubt.targets[i];
      json.member("low", interval ? std::optional(interval->low) : std::nullopt);
      json.member("high", interval ? std::optional(interval->high) : std::nullopt).end_object();
    }
    json.end_array();
    write_interval(json, "met_fraction", doubt.met);
    json.key("meets").begin_object().member("answer", doubt.answer_meets).member("fewer", doubt.fewer_meets);
    json.member("more", doubt.more_meets).end_object().end_object();
  } else {
    json.null();
  }
  json.member("tightest", rate.tightest).key("sensitivity").begin_array();
  for (const Sensitivity& each : rate.sensitivity)
    json.begin_object()
        .member("what", each.what)
        .member("change", each.change)
        .member("less", each.less)
        .member("more", each.more)
        .member("less_flips", each.less_flips)
        .member("more_flips", each.more_flips)
        .end_object();
  json.end_array();
}

void write_list(JsonWriter& json, const char* key, const std::vector<std::string>& lines) {
  json.key(key).begin_array();
  for (const std::string& line : lines) json.value(line);
  json.end_array();
}

/// The members of a rate, into the open object.
void write_rate(JsonWriter& json, const RatePlan& rate, const Plan& plan) {
  json.member("rate_scale", rate.rate);
  write_maybe(json, "best", rate.best);
  write_maybe(json, "fewer", rate.fewer);
  json.member("fewer_note", rate.fewer_note);
  write_maybe(json, "more", rate.more);
  json.key("runners_up").begin_array();
  for (const Option& each : rate.runners_up) write_option(json, each);
  json.end_array();
  json.key("unmet").begin_array();
  for (const Unmet& each : rate.unmet)
    json.begin_object().member("device", each.device).member("why", each.why).end_object();
  json.end_array();
  write_list(json, "ties", rate.ties);
  write_around(json, rate);
  write_sureness(json, rate);
  json.key("export");
  if (rate.exported) {
    json.begin_object().member("form", rate.exported->form).member("text", rate.exported->text);
    json.member("contract", rate.exported->contract).end_object();
  } else {
    json.null();
  }
  std::vector<std::string> doubts = rate.doubts;
  doubts.insert(doubts.end(), plan.assumptions.begin(), plan.assumptions.end());
  write_list(json, "doubts", doubts);
}

}  // namespace

std::string plan_json(const Plan& plan) {
  JsonWriter json;
  json.begin_object().member("version", std::string_view(kVersion)).member("trace", plan.trace);
  json.member("requests", plan.requests).member("model", plan.model);
  json.key("currency");
  plan.currency.empty() ? json.null() : json.value(plan.currency);
  json.member("interrupted", plan.interrupted);
  json.member("start_up_s", plan.start_up_s);
  if (!plan.rates.empty()) write_rate(json, plan.rates.front(), plan);
  json.key("rates").begin_array();
  for (const RatePlan& rate : plan.rates) {
    json.begin_object();
    write_rate(json, rate, plan);
    json.end_object();
  }
  json.end_array();
  json.key("refused").begin_array();
  for (const Refusal& each : plan.refused)
    json.begin_object().member("shape", each.shape).member("why", each.why).end_object();
  json.end_array();
  write_list(json, "notes", plan.notes);
  json.key("path").begin_array();
  for (const PathStep& each : plan.path)
    json.begin_object()
        .member("case", each.name)
        .member("number", each.number)
        .member("why", each.why)
        .member("outcome", each.outcome)
        .end_object();
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace kvplan::planner
