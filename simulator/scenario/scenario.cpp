#include "simulator/scenario/scenario.h"

#include <algorithm>
#include <array>

#include "simulator/base/number_input.h"
#include "simulator/latency/latencies.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_text.h"
#include "simulator/readers/catalogue.h"
#include "simulator/replacement/replacements.h"
#include "simulator/scenario/chosen_eviction.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scenario/extrapolation.h"
#include "simulator/scenario/model_length.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario_checks.h"
#include "simulator/scenario/settings.h"
#include "simulator/scheduling/engines.h"
#include "simulator/workload/sessions.h"

namespace kvplan::runs {
namespace {

constexpr std::string_view kModelOfRecordings = "recording";

std::optional<std::int64_t> integer_of(const Scenario& s, std::string_view path) {
  return parse_integer(s.text(path));
}

/// Keeps exactly one size of the pool: the command line's rather than a file's, and any rather than the default.
Status choose_pool(Scenario& s, const GivenAt& given_at) {
  constexpr std::array<std::string_view, 3> kPools{"memory.pool_bytes", "memory.pool_tokens",
                                                   "memory.pool_blocks"};
  const auto is_given = [&](std::size_t i) { return s.origin(i) == Origin::kGiven && !s.texts[i].empty(); };
  const bool replaced = std::any_of(kPools.begin(), kPools.end(), [&](std::string_view path) {
    const std::size_t i = field_index(path);
    return is_given(i) && given_at[i].file.empty();
  });
  std::string given;
  const Setting* last = nullptr;
  int count = 0;
  for (const auto path : kPools) {
    const std::size_t i = field_index(path);
    if (replaced && !given_at[i].file.empty()) s.texts[i].clear();
    if (!is_given(i)) continue;
    ++count;
    if (last == nullptr || given_at[i].file.empty() || given_at[i].line > last->line) last = &given_at[i];
    given += given.empty() ? std::string(path) : " and " + std::string(path);
  }
  if (count > 1)
    return bad_input("expected one pool size, found " + given)
        .at_file(last->file)
        .at_line(last->line)
        .at_field("memory");
  s.derives_pool = count == 0 && !s.text("deployment.device").empty();
  if ((count == 1 || s.derives_pool) && s.origin(field_index(kPools[0])) == Origin::kDefault)
    s.texts[field_index(kPools[0])].clear();
  s.pool = {.bytes = integer_of(s, kPools[0]).value_or(-1),
            .tokens = integer_of(s, kPools[1]).value_or(-1),
            .blocks = integer_of(s, kPools[2]).value_or(-1)};
  if (s.pool.bytes < 0 && s.pool.tokens < 0 && s.pool.blocks < 0 && !s.derives_pool)
    return bad_input(
               "expected a pool size: deployment.device, memory.pool_bytes, memory.pool_tokens or "
               "memory.pool_blocks")
        .at_field("memory");
  return Done{};
}

Status read_attention(Scenario& s, const GivenAt& given_at) {
  std::string_view rest = s.text("workload.attention");
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    s.attention.emplace_back(rest.substr(0, comma));
    if (s.attention.back().empty() || comma + 1 == rest.size())
      return error_at(bad_input("expected a path between commas"),
                      given_at[field_index("workload.attention")]);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return Done{};
}

/// Recordings imply their model unless the scenario names one.
Status choose_model(Scenario& s) {
  const std::size_t field = field_index("model");
  if (!s.attention.empty() && s.origin(field) == Origin::kDefault) {
    s.texts[field] = kModelOfRecordings;
    s.sources[field] = {Source::From::kDerived};
  }
  if (s.texts[field] == kModelOfRecordings) {
    if (!s.attention.empty()) return Done{};
    return bad_input("expected workload.attention, which gives the shape").at_field("model");
  }
  if (model::names_model_file(s.texts[field])) {
    s.model_file = s.texts[field];
    return Done{};
  }
  KVPLAN_TRY(s.model, model::find_model(s.texts[field]));
  return Done{};
}

/// The component as the user gave it: the text has all parameters; those that are defaults are marked as not given.
Choice as_said(const Scenario& s, std::string_view path, const Choice& choice) {
  const std::size_t field = field_index(path);
  std::vector<Choice::Value> values = choice.values();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i].given = s.param_origin(field, choice.descriptor().params[i].name) == Origin::kGiven;
  return {&choice.descriptor(), std::move(values)};
}

/// "24,40".
Result<std::vector<std::int64_t>> layers_of_text(std::string_view text) {
  std::vector<std::int64_t> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto layers = parse_integer(std::string(text.substr(0, comma)));
    if (!layers || *layers < 1 || comma + 1 == text.size())
      return not_expected("layers of each stage, such as 24,40", text).at_field("deployment.pp_layers");
    out.push_back(*layers);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

/// Chooses the device, stored by its own name from here on, and all that its memory is divided by.
Status choose_deployment(Scenario& s) {
  model::Deployment& d = s.deployment;
  if (std::string& name = s.texts[field_index("deployment.device")]; !name.empty()) {
    KVPLAN_TRY(s.device, model::any_device(name));
    d.device = s.device.get();
    name = model::says_device(name) ? model::in_place(*d.device) : d.device->name;
  }
  d.tensor_ranks = integer_of(s, "deployment.tp").value_or(1);
  d.stages = integer_of(s, "deployment.pp").value_or(1);
  KVPLAN_TRY(d.stage_layers, layers_of_text(s.text("deployment.pp_layers")));
  if (!d.stage_layers.empty() && std::ssize(d.stage_layers) != d.stages)
    return not_expected("the layers of each of " + std::to_string(d.stages) + " stages (deployment.pp)",
                        s.text("deployment.pp_layers"))
        .at_field("deployment.pp_layers");
  KVPLAN_TRY(const Choice format, parse_member("format", s.text("format")));
  RunFormat stored = run_format(as_said(s, "format", format));
  d.format = std::move(stored.of_token);
  s.encoded = std::move(stored.encoded);
  KVPLAN_TRY(const Choice of_windows, parse_member(kWindowFormatFamily, s.text("window_format")));
  if (tells_windows_apart(of_windows)) s.window_format = run_format(as_said(s, "window_format", of_windows));
  KVPLAN_TRY(const Choice rule, parse_member("pool-rule", s.text("deployment.pool_rule")));
  d.pool_rule = scheduling::pool_rule_of(as_said(s, "deployment.pool_rule", rule));
  if (d.pool_rule.rule->check != nullptr)
    if (const Status known = d.pool_rule.rule->check(d.pool_rule.choice); !known.ok())
      return Error(known.error()).at_field("deployment.pool_rule." + known.error().field);
  if (const std::string& bits = s.text("deployment.weight_bits"); !bits.empty()) {
    KVPLAN_TRY(d.weight_bits, parse_fraction(bits));
  }
  d.weights_bytes = integer_of(s, "deployment.weights_bytes");
  d.activation_bytes = integer_of(s, "deployment.activation_bytes");
  d.workspace_bytes = integer_of(s, "deployment.workspace_bytes");
  d.context_bytes = integer_of(s, "deployment.context_bytes");
  d.graph_bytes = integer_of(s, "deployment.graph_bytes");
  return Done{};
}

/// Sets a parameter of the engine that is not said.
Status set_derived(Scenario& s, std::string_view param, const std::string& value) {
  const std::size_t field = field_index("engine");
  if (s.param_origin(field, param) == Origin::kGiven) return Done{};
  std::erase_if(s.param_sources[field], [&](const ParamSource& each) { return each.param == param; });
  const std::string text = with_param(s.texts[field], param, value);
  KVPLAN_TRY(s.engine, parse_member("engine", text));
  s.texts[field] = s.engine.to_string();
  s.param_sources[field].push_back({std::string(param), {Source::From::kDerived}});
  return Done{};
}

/// On a device the engine's limits are those with which its server starts there. REQUIRES: the device is chosen.
Status choose_limits(Scenario& s) {
  if (s.deployment.device == nullptr) return Done{};
  const auto defaults_on = scheduling::engine_of(s.engine).defaults_on;
  if (defaults_on == nullptr) return Done{};
  for (const scheduling::ServerDefault& each : defaults_on(*s.deployment.device))
    KVPLAN_TRY_DO(set_derived(s, each.param, std::to_string(each.value)));
  return Done{};
}

/// The longest request of the model. Errors: a longer one is asked for, with which the server does not start.
Status choose_length(Scenario& s, const model::ModelShape& shape) {
  const scheduling::EngineTraits engine = s.engine_traits();
  const scheduling::BeyondModel& beyond = engine.beyond_model;
  const std::optional<std::int64_t> tokens = model_length(engine, shape);
  if (s.deployment.device == nullptr || !tokens) return Done{};
  const std::string_view param = engine.request_tokens.param;
  const bool given = s.param_origin(field_index("engine"), param) == Origin::kGiven;
  const std::int64_t asked = given ? beyond.length : 0;
  if (asked > *tokens && !beyond.variable.empty() && !beyond.allowed)
    return bad_input("expected at most " + std::to_string(*tokens) + ", the longest request that " +
                     shape.name + " was made for, found " + std::to_string(asked) +
                     ": the server starts so only with " + std::string(beyond.variable) +
                     "=1, which engine." + std::string(beyond.param) + "=true stands for")
        .at_field("engine." + std::string(param));
  return set_derived(s, param, std::to_string(*tokens));
}

/// The layers of each stage: as the scenario says, else as its engine divides them where that is not as in vLLM.
void choose_stages(Scenario& s, const model::ModelShape& shape) {
  model::Deployment& d = s.deployment;
  const auto divide = scheduling::engine_of(s.engine).stage_layers;
  if (s.text("deployment.pp_layers").empty() && divide != nullptr && d.stages > 1 && d.stages <= shape.layers)
    d.stage_layers = divide(shape.layers, d.stages);
}

/// Layers with states in place of a KV cache: what vLLM sets for them where nothing is said (vllm-project/vllm v0.15.1,
/// vllm/config/model.py, is_prefix_caching_supported), and the allocator that has room for states.
Status choose_states(Scenario& s, const model::ModelShape& shape) {
  const std::string_view prefixes = s.engine_traits().prefixes_beside_states;
  if (shape.state_layers() == 0 || prefixes.empty()) return Done{};
  KVPLAN_TRY_DO(set_derived(s, prefixes, "false"));
  const std::size_t field = field_index("memory.allocator");
  if (s.origin(field) == Origin::kGiven || !s.param_sources[field].empty()) return Done{};
  const auto all = memory::allocators();
  const auto entry =
      std::find_if(all.begin(), all.end(), [](const auto* each) { return each->follows_windows; });
  KVPLAN_TRY(s.allocator, parse_member("allocator", (*entry)->descriptor.name));
  s.texts[field] = s.allocator.to_string();
  s.sources[field] = {Source::From::kDerived};
  return Done{};
}

/// What follows from the model.
Status follow_model(Scenario& s, const model::ModelShape& shape) {
  choose_stages(s, shape);
  KVPLAN_TRY_DO(choose_states(s, shape));
  return choose_length(s, shape);
}

/// The share of memory that the engine takes on the device. REQUIRES: the engine's limits are chosen.
Status choose_share(Scenario& s) {
  model::Deployment& d = s.deployment;
  const model::PoolRule& rule = *d.pool_rule.rule;
  const std::size_t field = field_index("deployment.pool_rule");
  if (d.device == nullptr || rule.share_on == nullptr || s.param_origin(field, rule.share) == Origin::kGiven)
    return Done{};
  const std::string share = rule.share_on({.device = d.device,
                                           .tensor_ranks = d.tensor_ranks,
                                           .stages = d.stages,
                                           .step_tokens = s.engine_traits().most_piece_tokens(),
                                           .step_requests = s.engine_traits().running.value});
  KVPLAN_TRY(Choice choice, parse_member("pool-rule", with_param(s.texts[field], rule.share, share)));
  s.texts[field] = choice.to_string();
  s.param_sources[field].push_back({std::string(rule.share), {Source::From::kDerived}});
  d.pool_rule = scheduling::pool_rule_of(as_said(s, "deployment.pool_rule", choice));
  return Done{};
}

void follow_limits(Scenario& s) {
  model::Deployment& d = s.deployment;
  const scheduling::EngineTraits engine = s.engine_traits();
  d.step_tokens = engine.step_tokens.value;
  d.step_requests = engine.running.value;
  d.longest_path = "engine." + std::string(engine.request_tokens.param);
  d.counts_states = memory::allocator_entry(s.allocator).follows_windows;
  // The rule checks that a request of max_model_len fits, with every token counted in all layers.
  if (!memory::allocator_entry(s.allocator).follows_windows) d.max_model_len = engine.request_tokens.value;
}

/// Without a given latency model (`said` is false), one is chosen by device and model. Parameters that are figures of
/// a device come from the deployment's device if they are not given. REQUIRES: the model is chosen.
Status choose_latency(Scenario& s, bool said) {
  if (s.deployment.device == nullptr) return Done{};
  const std::size_t field = field_index("latency");
  if (!said && (s.model != nullptr || !s.model_file.empty())) {
    const std::string text = latency::latency_text_for({.device = *s.deployment.device,
                                                        .model = s.model,
                                                        .kernels = scheduling::engine_of(s.engine).kernels});
    if (!text.empty()) {
      s.texts[field] = text;
      s.sources[field] = {Source::From::kDerived};
      KVPLAN_TRY(s.latency, parse_member("latency", text));
      s.texts[field] = s.latency.to_string();
      return Done{};
    }
  }
  const auto of_device = latency::latency_entry(s.latency).of_device;
  if (of_device.empty()) return Done{};
  for (const auto& [param, figure] : of_device) {
    if (s.param_origin(field, param) == Origin::kGiven) continue;
    s.texts[field] = with_param(s.texts[field], param, std::to_string(s.deployment.device->at(figure).value));
    s.param_sources[field].push_back({std::string(param), {Source::From::kDerived}});
  }
  KVPLAN_TRY(s.latency, parse_member("latency", s.texts[field]));
  s.texts[field] = s.latency.to_string();
  return Done{};
}

/// In a run the next use of a content is unknown, since it depends on what is evicted.
Status check_replacement(const Scenario& s) {
  if (replacement::serves_pools(replacement::replacement_entry(s.replacement))) return Done{};
  return bad_input("\"" + std::string(s.replacement.name()) +
                   "\" needs to know the future, which in a run depends on its own evictions: use `kvplan "
                   "cache --replacement` instead");
}

}  // namespace

Origin Scenario::origin(std::string_view path) const {
  return origin(field_index(path));
}

scheduling::EngineTraits Scenario::engine_traits() const {
  return scheduling::engine_traits(engine);
}

bool Scenario::keeps_nothing() const {
  return memory::allocator_entry(allocator).keeps_nothing;
}

bool Scenario::asks_for_prefixes() const {
  return engine_traits().wants_prefixes && memory::allocator_entry(allocator).shares_prefixes;
}

bool Scenario::replaces_by_policy() const {
  return replacement::replacement_entry(replacement).make != nullptr;
}

const std::string& Scenario::text(std::string_view path) const {
  return texts[field_index(path)];
}

Source Scenario::param_source(std::size_t i, std::string_view param) const {
  for (const ParamSource& each : param_sources[i])
    if (each.param == param) return each.source;
  return {};
}

void each_source(const Scenario& scenario, const std::function<void(std::string_view, const Source&)>& told) {
  for (std::size_t i = 0; i < scenario_fields().size(); ++i) {
    if (scenario.texts[i].empty()) continue;
    const Field& field = scenario_fields()[i];
    told(field.path, scenario.sources[i]);
    if (field.kind != FieldKind::kComponent) continue;
    const Choice choice = parse_member(field.family, scenario.texts[i]).value();
    for (const Param& param : choice.descriptor().params)
      if (choice.says(param.name))
        told(std::string(field.path).append(".").append(param.name), scenario.param_source(i, param.name));
  }
}

Result<Scenario> with_length_of(const model::ModelShape& shape, Scenario s) {
  KVPLAN_TRY_DO(follow_model(s, shape));
  follow_limits(s);
  return s;
}

Result<Scenario> resolve(std::span<const Setting> settings) {
  Scenario s = default_scenario(settings);
  GivenAt given_at(scenario_fields().size());
  KVPLAN_TRY_DO(apply_settings(settings, s, given_at));

  s.trace = s.text("workload.trace");
  s.import = {s.text("workload.format"), s.text("workload.map"),
              integer_of(s, "workload.block_tokens").value_or(0)};
  KVPLAN_TRY(s.rate_scale, parse_fraction(s.text("workload.rate_scale")));
  s.limit = integer_of(s, "workload.limit").value_or(-1);
  s.seed = static_cast<std::uint64_t>(integer_of(s, "seed").value_or(0));
  KVPLAN_TRY_DO(read_attention(s, given_at));
  KVPLAN_TRY_DO(choose_pool(s, given_at));
  const auto component = [&](std::string_view path, std::string_view family) {
    return parse_member(family, s.text(path));
  };
  KVPLAN_TRY(s.sessions, component("workload.sessions", "sessions"));
  if (workload::session_rule(s.sessions).clients > 0 && s.rate_scale.numerator != s.rate_scale.denominator)
    return error_at(
        bad_input("expected 1, because clients do not send at recorded times (workload.sessions); "
                  "more clients give more load"),
        given_at[field_index("workload.rate_scale")]);
  KVPLAN_TRY(s.answers, component("workload.answers", "answers"));
  KVPLAN_TRY(const Choice extrapolation, component("workload.extrapolation", kExtrapolationFamily));
  s.extrapolates_shape = extrapolates_shape(extrapolation);
  KVPLAN_TRY(s.allocator, component("memory.allocator", "allocator"));
  KVPLAN_TRY(s.replacement, component("memory.replacement", "replacement"));
  if (const Status online = check_replacement(s); !online.ok())
    return error_at(online.error(), given_at[field_index("memory.replacement")]);
  KVPLAN_TRY(s.engine, component("engine", "engine"));
  KVPLAN_TRY(s.latency, component("latency", "latency"));
  KVPLAN_TRY(s.router, component("fleet.router", "router"));
  const auto error_at_device_or_rule = [&](const Error& error) {
    const bool of_rule = error.field.starts_with("deployment.pool_rule");
    const bool of_stages = error.field == "deployment.pp_layers";
    return error_at(error, given_at[field_index(of_rule     ? "deployment.pool_rule"
                                                : of_stages ? "deployment.pp_layers"
                                                            : "deployment.device")]);
  };
  if (const Status deployment = choose_deployment(s); !deployment.ok())
    return error_at_device_or_rule(deployment.error());
  KVPLAN_TRY_DO(choose_limits(s));
  KVPLAN_TRY_DO(choose_share(s));
  if (const Status eviction = choose_eviction(s); !eviction.ok())
    return error_at(eviction.error(), given_at[field_index("eviction")]);
  if (const Status budget = choose_budget(s); !budget.ok())
    return error_at(budget.error(), given_at[field_index("budget")]);
  KVPLAN_TRY(Choice reader, component("reader", "reader"));
  if (reader.name() != readers::kFullReader.descriptor.name) s.reader = std::move(reader);
  const auto error_at_field = [&](const Error& error) {
    return error_at(error, given_at[field_index(error.field)]);
  };
  if (const Status told = check_told_by_lengths(s); !told.ok()) return error_at_field(told.error());
  RunParts parts = scenario_parts(s);
  if (const Status together = check_combinations(parts, s, Known::kScenario); !together.ok())
    return error_at_field(together.error());
  if (const Status model = choose_model(s); !model.ok())
    return error_at(model.error(), given_at[field_index("model")]);
  if (s.model != nullptr) {
    if (const Status follows = follow_model(s, *s.model); !follows.ok())
      return error_at(follows.error(), given_at[field_index("engine")]);
    parts = scenario_parts(s);
  }
  follow_limits(s);
  KVPLAN_TRY_DO(choose_latency(s, !given_at[field_index("latency")].path.empty()));
  parts.add(Part::kMeasuredSteps, !latency::latency_entry(s.latency).knows_parts);
  if (const Status timed = check_combinations(parts, s, Known::kScenario); !timed.ok())
    return error_at_field(timed.error());
  s.replicas = integer_of(s, "fleet.replicas").value_or(1);
  s.target_ttft_s = parse_decimal(s.text("targets.ttft_s"));
  s.target_tpot_s = parse_decimal(s.text("targets.tpot_s"));
  s.target_e2e_s = parse_decimal(s.text("targets.e2e_s"));
  s.target_from_s = parse_decimal(s.text("targets.from_s"));
  s.target_to_s = parse_decimal(s.text("targets.to_s"));
  if (s.target_from_s && s.target_to_s && *s.target_from_s >= *s.target_to_s)
    return error_at(bad_input("expected a time after targets.from_s (" + s.text("targets.from_s") +
                              "), found " + s.text("targets.to_s")),
                    given_at[field_index("targets.to_s")]);
  KVPLAN_TRY(s.percentiles, parse_percentile_targets(s.text("targets.percentiles_s")));
  s.prices = s.text("prices");
  KVPLAN_TRY(s.target_fraction, parse_fraction(s.text("targets.fraction")));
  return s;
}

}  // namespace kvplan::runs
