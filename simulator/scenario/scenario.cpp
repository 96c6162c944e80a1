#include "simulator/scenario/scenario.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/catalogue.h"
#include "simulator/attention/head_intervals.h"
#include "simulator/base/check.h"
#include "simulator/base/number_input.h"
#include "simulator/base/pair_value.h"
#include "simulator/base/suggest.h"
#include "simulator/latency/latencies.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/readers/catalogue.h"
#include "simulator/replacement/replacements.h"
#include "simulator/routing/routers.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scenario/extrapolation.h"
#include "simulator/scenario/policy_lists.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario_checks.h"
#include "simulator/scheduling/engines.h"
#include "simulator/workload/sessions.h"

namespace kvplan::runs {
namespace {

constexpr std::string_view kModelOfRecordings = "recording";
constexpr std::string_view kEnginePath = "engine", kPoolRulePath = "deployment.pool_rule";

constexpr std::array<std::string_view, 11> kFamilies{
    "sessions",  "allocator",   "engine", "latency",           "router", "eviction", "format",
    "pool-rule", "replacement", "reader", kExtrapolationFamily};

std::size_t field_index(std::string_view path) {
  for (std::size_t i = 0; i < scenario_fields().size(); ++i)
    if (scenario_fields()[i].path == path) return i;
  check_failed("the scenario has this field", __FILE__, __LINE__);
}

/// The field itself, or the component with the parameter that the path names.
struct Place {
  std::size_t field;
  std::string_view param;
};

Result<Place> place_of(std::string_view path) {
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < scenario_fields().size(); ++i) {
    const Field& field = scenario_fields()[i];
    known.push_back(field.path);
    if (field.path == path) return Place{i, {}};
    const std::string prefix = std::string(field.path) + ".";
    if (field.kind == FieldKind::kComponent && path.substr(0, prefix.size()) == prefix)
      return Place{i, path.substr(prefix.size())};
  }
  return bad_input(unknown_name("scenario path", path, known));
}

/// `NAME:a=1,b=2` with parameter `param` set to `text`.
std::string with_param(std::string_view component, std::string_view param, std::string_view text) {
  const std::size_t colon = component.find(':');
  std::string out(component.substr(0, colon));
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : component.substr(colon + 1);
  char separator = ':';
  while (!rest.empty()) {
    const std::size_t comma = end_of_pair(rest);
    const std::string_view item = rest.substr(0, comma);
    if (item.substr(0, item.find('=')) != param) {
      out.append(1, separator).append(item);
      separator = ',';
    }
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return out.append(1, separator).append(param).append("=").append(pair_value(text));
}

Status check_value(const Field& field, std::string& text) {
  switch (field.kind) {
    case FieldKind::kText:
      return Done{};
    case FieldKind::kInteger: {
      KVPLAN_TRY([[maybe_unused]] const std::int64_t value, read_whole_number(text, {field.low, field.high}));
      return Done{};
    }
    case FieldKind::kFraction: {
      KVPLAN_TRY(const Fraction fraction, parse_fraction(text));
      if (field.high > 0 && Wide{fraction.numerator} > Wide{field.high} * fraction.denominator)
        return not_expected("a fraction above 0, at most " + std::to_string(field.high), text);
      return Done{};
    }
    case FieldKind::kSeconds: {
      const auto value = parse_decimal(text);
      if (!value || *value <= 0 || *value > 1e9)
        return not_expected("a positive number of seconds, at most 1e9", text);
      return Done{};
    }
    case FieldKind::kPercentiles: {
      KVPLAN_TRY([[maybe_unused]] const auto targets, parse_percentile_targets(text));
      return Done{};
    }
    case FieldKind::kComponent: {
      KVPLAN_TRY(const Choice choice, parse_member(field.family, text));
      text = choice.to_string();
      return Done{};
    }
  }
  return Done{};
}

/// Splits a `fleet` written in one text: replicas=N,router=NAME. Everything after `router=` that is not one of the
/// fleet's own paths belongs to the router: router=NAME:key=value,key=value.
std::vector<Setting> spread_fleet(const Setting& setting) {
  std::vector<Setting> out;
  std::string_view rest = setting.text;
  while (!rest.empty()) {
    std::size_t comma = rest.find(',');
    if (rest.starts_with("router="))
      while (comma != std::string_view::npos && !rest.substr(comma + 1).starts_with("replicas="))
        comma = rest.find(',', comma + 1);
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    out.push_back({"fleet." + std::string(item.substr(0, equals)),
                   equals == std::string_view::npos ? std::string() : std::string(item.substr(equals + 1)),
                   setting.file,
                   setting.line,
                   setting.origin,
                   {},
                   setting.option});
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return out;
}

Error placed(Error error, const Setting& setting) {
  if (error.field.empty()) {
    error.field = setting.path;
  } else if (error.field.rfind(setting.path, 0) != 0) {
    error.field = setting.path + ": " + error.field;
  }
  if (error.file.empty()) error.file = setting.file;
  if (error.line == 0) error.line = setting.line;
  return error;
}

Source source_of(const Setting& setting) {
  if (setting.origin == Origin::kDefault) return {};
  if (!setting.option.empty()) return {Source::From::kOption, setting.option};
  if (setting.file.empty()) return {Source::From::kGiven};
  return {Source::From::kFile, setting.file, setting.line};
}

/// Where each field was last given, for errors that show only once all are known.
using Places = std::vector<Setting>;

/// Notes where the parameters of a component were said: those of its latest text, and those set alone since.
void note_params(const Setting& setting, std::string_view param, std::string_view text,
                 std::vector<ParamSource>& noted) {
  const auto note = [&](std::string_view name) {
    const auto& defaults = setting.default_params;
    if (std::find(defaults.begin(), defaults.end(), name) != defaults.end()) return;
    Source source = source_of(setting);
    for (const auto& [of, line] : setting.param_lines)
      if (of == name) source.line = line;
    if (origin_of(source) == Origin::kGiven) noted.push_back({std::string(name), std::move(source)});
  };
  if (!param.empty()) {
    std::erase_if(noted, [&](const ParamSource& each) { return each.param == param; });
    note(param);
    return;
  }
  noted.clear();
  const std::size_t colon = text.find(':');
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = end_of_pair(rest);
    const std::string_view item = rest.substr(0, comma);
    note(item.substr(0, item.find('=')));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
}

Status apply(const Setting& setting, Scenario& scenario, Places& places) {
  const Result<Place> place = place_of(setting.path);
  if (!place) return Error(place.error()).at_file(setting.file).at_line(setting.line);
  const std::size_t i = place.value().field;
  const Field& field = scenario_fields()[i];
  places[i] = {std::string(field.path), {}, setting.file, setting.line};
  std::string text = setting.text;
  // It would end paths and expressions for the libraries that take them.
  if (text.find('\0') != std::string::npos)
    return placed(not_expected("a text without the character NUL", text), setting);
  if (!place.value().param.empty()) text = with_param(scenario.texts[i], place.value().param, text);
  // "none" takes a default away: no eviction, no limit, no target.
  if (text == "none" && !field.none.empty()) text = field.none;
  if (text == "none" && field.fallback.empty() && field.kind != FieldKind::kText) {
    scenario.texts[i].clear();
    scenario.sources[i] = source_of(setting);
    return Done{};
  }
  const std::string written = text;
  const Status good = check_value(field, text);
  if (!good) return placed(good.error(), setting);
  scenario.texts[i] = text;
  // Setting a single parameter keeps the source at which the component was chosen.
  if (place.value().param.empty() || scenario.origin(i) == Origin::kDefault)
    scenario.sources[i] = source_of(setting);
  if (field.kind == FieldKind::kComponent)
    note_params(setting, place.value().param, written, scenario.param_sources[i]);
  return Done{};
}

std::optional<std::int64_t> integer_of(const Scenario& s, std::string_view path) {
  return parse_integer(s.text(path));
}

/// "NAME" of `NAME:key=value`.
std::string_view member_name(std::string_view component) {
  return component.substr(0, component.find(':'));
}

/// A stored scenario writes its defaults down. With another engine its pool rule is no default any more.
bool is_stale_default(const Setting& setting, std::span<const Setting> settings) {
  if (setting.origin != Origin::kDefault || setting.path != kPoolRulePath) return false;
  return member_name(setting.text) != default_text(scenario_fields()[field_index(kPoolRulePath)], settings);
}

/// Exactly one size of the pool counts: of the command line rather than of a file, any rather than the default.
Status choose_pool(Scenario& s, const Places& places) {
  constexpr std::array<std::string_view, 3> kPools{"memory.pool_bytes", "memory.pool_tokens",
                                                   "memory.pool_blocks"};
  const auto is_given = [&](std::size_t i) { return s.origin(i) == Origin::kGiven && !s.texts[i].empty(); };
  const bool replaced = std::any_of(kPools.begin(), kPools.end(), [&](std::string_view path) {
    const std::size_t i = field_index(path);
    return is_given(i) && places[i].file.empty();
  });
  std::string given;
  const Setting* last = nullptr;
  int count = 0;
  for (const auto path : kPools) {
    const std::size_t i = field_index(path);
    if (replaced && !places[i].file.empty()) s.texts[i].clear();
    if (!is_given(i)) continue;
    ++count;
    if (last == nullptr || places[i].file.empty() || places[i].line > last->line) last = &places[i];
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

Status read_attention(Scenario& s, const Places& places) {
  std::string_view rest = s.text("workload.attention");
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    s.attention.emplace_back(rest.substr(0, comma));
    if (s.attention.back().empty() || comma + 1 == rest.size())
      return placed(bad_input("expected a path between commas"), places[field_index("workload.attention")]);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return Done{};
}

/// Recordings bring a model with them unless one is named.
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

/// A component as it was said: what its text has of defaults, since texts have every parameter, was not given.
Choice as_said(const Scenario& s, std::string_view path, const Choice& choice) {
  const std::size_t field = field_index(path);
  std::vector<Choice::Value> values = choice.values();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i].given = s.param_origin(field, choice.descriptor().params[i].name) == Origin::kGiven;
  return {&choice.descriptor(), std::move(values)};
}

/// The device, known by its own name from here on, and everything that its memory is divided by.
Status choose_deployment(Scenario& s) {
  model::Deployment& d = s.deployment;
  if (std::string& name = s.texts[field_index("deployment.device")]; !name.empty()) {
    KVPLAN_TRY(d.device, model::find_device(name));
    name = d.device->name;
  }
  d.tensor_ranks = integer_of(s, "deployment.tp").value_or(1);
  d.stages = integer_of(s, "deployment.pp").value_or(1);
  KVPLAN_TRY(const Choice format, parse_member("format", s.text("format")));
  RunFormat stored = run_format(as_said(s, "format", format));
  d.format = std::move(stored.of_token);
  s.encoded = std::move(stored.encoded);
  KVPLAN_TRY(const Choice of_windows, parse_member(kWindowFormatFamily, s.text("window_format")));
  if (tells_windows_apart(of_windows)) s.window_format = run_format(as_said(s, "window_format", of_windows));
  KVPLAN_TRY(Choice rule, parse_member("pool-rule", s.text("deployment.pool_rule")));
  d.pool_rule = scheduling::pool_rule_of(std::move(rule));
  d.weight_bits = integer_of(s, "deployment.weight_bits");
  d.weights_bytes = integer_of(s, "deployment.weights_bytes");
  d.activation_bytes = integer_of(s, "deployment.activation_bytes");
  d.workspace_bytes = integer_of(s, "deployment.workspace_bytes");
  d.context_bytes = integer_of(s, "deployment.context_bytes");
  d.graph_bytes = integer_of(s, "deployment.graph_bytes");
  const scheduling::EngineTraits engine = s.engine_traits();
  d.step_tokens = engine.step_tokens.value;
  d.step_requests = engine.running.value;
  d.longest_path = "engine." + std::string(engine.request_tokens.param);
  // The rule's question counts every token in all layers.
  if (!memory::allocator_entry(s.allocator).follows_windows) d.max_model_len = engine.request_tokens.value;
  return Done{};
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

/// Do the lengths of a request say how many of its tokens stay?
bool is_counted(const attention::PolicyKind& kind, const attention::PolicyTraits& traits) {
  return (kind.layer_counts != nullptr && !traits.thins) || traits.count || traits.head_tables;
}

/// Only the number of kept tokens at each length is known, and no recording says which tokens stay.
bool counted_by_steps(const Scenario& s, const attention::PolicyTraits& traits) {
  return (traits.count_at != nullptr || traits.thins) && s.attention.empty();
}

bool frees_single_blocks(const Scenario& s) {
  return memory::allocator_entry(s.allocator).frees_single_blocks;
}

/// What placement=compact asks for: lengths have to say how many tokens stay, or a recording or file.
Status check_compact(const Scenario& s, const attention::PolicyKind& kind,
                     const attention::PolicyTraits& traits) {
  const std::string found = "placement=compact, found ";
  if (!is_counted(kind, traits) && !counted_by_steps(s, traits) && !traits.recorded && s.attention.empty() &&
      traits.needs_recording())
    return bad_input("expected a policy with a number of tokens that follows from lengths (" +
                     counted_policies() + ") with " + found + "\"" + std::string(kind.descriptor.name) +
                     "\", which needs a recording (workload.attention)")
        .at_field("eviction");
  if (kind.layer_counts == nullptr && traits.count && traits.count->budget < 1)
    return bad_input("expected a policy that keeps at least one token with " + found + "none")
        .at_field("eviction");
  return Done{};
}

/// Traits of the policy with the scenario's budget, which replaces its own numbers.
attention::PolicyTraits traits_with_budget(const Scenario& s, const attention::PolicyChoice& policy) {
  const auto budget = parse_member("budget", s.text("budget"));
  const bool given = budget.ok() && is_budget(budget.value());
  return given ? attention::traits_with_budget(policy) : policy.kind->traits(policy.choice);
}

/// REQUIRES: PolicyTraits::needs_recording.
Error needs_recordings(const Scenario& s, const attention::PolicyKind& kind,
                       const attention::PolicyTraits& traits) {
  const bool by_tensors =
      traits.keys || traits.queries || traits.values || traits.value_norms || traits.output_weights;
  const bool counted = is_counted(kind, traits) || counted_by_steps(s, traits);
  return bad_input(
             "\"" + std::string(kind.descriptor.name) + "\" " +
             (by_tensors ? "selects by keys, queries or values" : "selects by attention") +
             ": give recordings as workload.attention, " +
             (counted && frees_single_blocks(s)
                  ? "use placement=compact, which needs no recording because it only counts kept tokens, "
                  : "") +
             "or use a policy that needs no recording (" + policies_without_recordings() + ")")
      .at_field("eviction");
}

Status choose_eviction(Scenario& s) {
  KVPLAN_TRY(Choice choice, parse_member("eviction", s.text("eviction")));
  const attention::PolicyChoice policy = attention::policy_of(choice);
  if (policy.kind == &attention::kFull) return Done{};
  KVPLAN_TRY_DO(attention::check_policy(policy));
  const attention::PolicyTraits traits = traits_with_budget(s, policy);
  const std::string name(choice.name());
  if (traits.keeps_everything())
    return bad_input("\"" + name +
                     "\" evicts nothing and reads a part, so it frees no memory in a run: use " +
                     "`kvplan evict`")
        .at_field("eviction");
  const EvictsBy by_tokens = s.attention.empty() ? EvictsBy::kTokens : EvictsBy::kRecordings;
  if (choice.text("placement") == "compact") {
    KVPLAN_TRY_DO(check_compact(s, *policy.kind, traits));
    s.evicts_by = traits.recorded                                                   ? EvictsBy::kSets
                  : is_counted(*policy.kind, traits) || counted_by_steps(s, traits) ? EvictsBy::kCounts
                                                                                    : by_tokens;
    s.eviction = std::move(choice);
    return Done{};
  }
  if (traits.interval && traits.interval->recent < 1)
    return bad_input("expected a policy that keeps at least the newest token").at_field("eviction");
  if (traits.recorded) {
    s.evicts_by = EvictsBy::kSets;
  } else if (!attention::lengths_decide(traits)) {
    if (s.attention.empty() && traits.needs_recording()) return needs_recordings(s, *policy.kind, traits);
    s.evicts_by = by_tokens;
  } else if (traits.head_tables || choice.text("placement") == "reuse") {
    s.evicts_by = EvictsBy::kLengths;
  } else {
    s.evicts_by = EvictsBy::kKeepRule;
    s.keep = {traits.interval->sink, traits.interval->recent};
  }
  s.eviction = std::move(choice);
  return Done{};
}

/// Layers with intervals of their own need courses, and so does a request with a measured recording. REQUIRES: the
/// eviction is chosen.
Status choose_budget(Scenario& s) {
  KVPLAN_TRY(Choice choice, parse_member("budget", s.text("budget")));
  if (!is_budget(choice)) return Done{};
  if (!s.eviction || attention::policy_of(*s.eviction).kind->budget.param.empty())
    return refused_together(Part::kBudget, Part::kNoNumber, s,
                            "policies that take one: " + attention::policies_with_budget());
  const std::string name(choice.name());
  const bool measured = attention::measures_scores(choice);
  if (measured && s.attention.empty())
    return bad_input(
               "\"" + name +
               "\" measures the attention of prompts: give recordings as workload.attention, or numbers "
               "as budget.scores")
        .at_field("budget");
  if (s.evicts_by == EvictsBy::kKeepRule) s.evicts_by = EvictsBy::kLengths;
  if (s.evicts_by == EvictsBy::kLengths && measured) s.evicts_by = EvictsBy::kRecordings;
  s.keep = {};
  s.budget = std::move(choice);
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

std::span<const std::string_view> families() {
  return kFamilies;
}

Catalogue family_descriptors(std::string_view family) {
  if (family == "sessions") return workload::session_descriptors();
  if (family == "allocator") return memory::allocator_descriptors();
  if (family == "engine") return scheduling::engine_descriptors();
  if (family == "latency") return latency::latency_descriptors();
  if (family == "router") return routing::router_descriptors();
  if (family == "eviction") return attention::policy_descriptors();
  if (family == "budget") return run_budgets();
  if (family == "format") return run_formats();
  if (family == kWindowFormatFamily) return window_formats();
  if (family == "pool-rule") return scheduling::pool_rule_descriptors();
  if (family == "replacement") return replacement::replacement_descriptors();
  if (family == "reader") return readers::reader_descriptors();
  if (family == kExtrapolationFamily) return extrapolations();
  return {};
}

Result<Choice> parse_member(std::string_view family, std::string_view text) {
  if (family == "format") return parse_run_format(text);
  if (family == kWindowFormatFamily) return parse_window_format(text);
  return parse_component(text, family, family_descriptors(family));
}

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

bool set_source(Scenario& scenario, std::string_view path, const Source& source) {
  const Result<Place> place = place_of(path);
  if (!place) return false;
  const std::size_t i = place.value().field;
  const std::string_view param = place.value().param;
  if (param.empty()) {
    const bool fits = !scenario.texts[i].empty() && scenario.origin(i) == origin_of(source);
    if (fits) scenario.sources[i] = source;
    return fits;
  }
  const Field& field = scenario_fields()[i];
  const auto choice = parse_member(field.family, scenario.texts[i]);
  const bool told =
      choice.ok() &&
      std::any_of(choice.value().descriptor().params.begin(), choice.value().descriptor().params.end(),
                  [&](const Param& each) { return each.name == param && choice.value().says(each.name); });
  if (!told || scenario.param_origin(i, param) != origin_of(source)) return false;
  std::vector<ParamSource>& noted = scenario.param_sources[i];
  std::erase_if(noted, [&](const ParamSource& each) { return each.param == param; });
  noted.push_back({std::string(param), source});
  return true;
}

Result<Setting> parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return not_expected("PATH=VALUE", text).at_field("--set");
  Setting setting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)), {}, 0};
  setting.option = "--set";
  return setting;
}

std::string_view default_text(const Field& field, std::span<const Setting> settings) {
  if (field.path != kPoolRulePath) return field.fallback;
  const auto last_text = [&](std::string_view path) {
    const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                    [path](const Setting& setting) { return setting.path == path; });
    return found == settings.rend() ? std::string_view() : std::string_view(found->text);
  };
  // Without a device there is nothing to divide.
  if (last_text("deployment.device").empty()) return field.fallback;
  const std::string_view chosen = member_name(last_text(kEnginePath));
  for (const scheduling::Engine* engine : scheduling::engines()) {
    const bool named = engine->scheduler != nullptr && engine->scheduler->descriptor.name == chosen;
    if (named && engine->pool_rule != nullptr) return engine->pool_rule->descriptor.name;
  }
  return field.fallback;
}

Result<Scenario> resolve(std::span<const Setting> settings) {
  Scenario s;
  for (const Field& field : scenario_fields()) {
    std::string text(default_text(field, settings));
    const bool derived = text != field.fallback;
    if (!text.empty()) KVPLAN_CHECK(check_value(field, text).ok());
    s.texts.push_back(std::move(text));
    s.sources.push_back(derived ? Source{Source::From::kDerived} : Source{});
    s.param_sources.emplace_back();
  }
  Places places(scenario_fields().size());
  for (const Setting& setting : settings) {
    if (is_stale_default(setting, settings)) continue;
    if (setting.path != "fleet") {
      KVPLAN_TRY_DO(apply(setting, s, places));
      continue;
    }
    for (const Setting& part : spread_fleet(setting)) KVPLAN_TRY_DO(apply(part, s, places));
  }

  s.trace = s.text("workload.trace");
  s.import = {s.text("workload.format"), s.text("workload.map"),
              integer_of(s, "workload.block_tokens").value_or(0)};
  KVPLAN_TRY(s.rate_scale, parse_fraction(s.text("workload.rate_scale")));
  s.limit = integer_of(s, "workload.limit").value_or(-1);
  s.seed = static_cast<std::uint64_t>(integer_of(s, "seed").value_or(0));
  KVPLAN_TRY_DO(read_attention(s, places));
  KVPLAN_TRY_DO(choose_pool(s, places));
  const auto component = [&](std::string_view path, std::string_view family) {
    return parse_member(family, s.text(path));
  };
  KVPLAN_TRY(s.sessions, component("workload.sessions", "sessions"));
  KVPLAN_TRY(const Choice extrapolation, component("workload.extrapolation", kExtrapolationFamily));
  s.extrapolates_shape = extrapolates_shape(extrapolation);
  KVPLAN_TRY(s.allocator, component("memory.allocator", "allocator"));
  KVPLAN_TRY(s.replacement, component("memory.replacement", "replacement"));
  if (const Status online = check_replacement(s); !online.ok())
    return placed(online.error(), places[field_index("memory.replacement")]);
  KVPLAN_TRY(s.engine, component("engine", "engine"));
  KVPLAN_TRY(s.latency, component("latency", "latency"));
  KVPLAN_TRY(s.router, component("fleet.router", "router"));
  if (const Status deployment = choose_deployment(s); !deployment.ok())
    return placed(deployment.error(), places[field_index("deployment.device")]);
  if (const Status eviction = choose_eviction(s); !eviction.ok())
    return placed(eviction.error(), places[field_index("eviction")]);
  if (const Status budget = choose_budget(s); !budget.ok())
    return placed(budget.error(), places[field_index("budget")]);
  KVPLAN_TRY(Choice reader, component("reader", "reader"));
  if (reader.name() != readers::kFullReader.descriptor.name) s.reader = std::move(reader);
  const auto placed_in_scenario = [&](const Error& error) {
    return placed(error, places[field_index(error.field)]);
  };
  if (const Status told = check_told_by_lengths(s); !told.ok()) return placed_in_scenario(told.error());
  RunParts parts = scenario_parts(s);
  if (const Status together = check_combinations(parts, s, Known::kScenario); !together.ok())
    return placed_in_scenario(together.error());
  if (const Status model = choose_model(s); !model.ok())
    return placed(model.error(), places[field_index("model")]);
  KVPLAN_TRY_DO(choose_latency(s, !places[field_index("latency")].path.empty()));
  parts.add(Part::kMeasuredSteps, !latency::latency_entry(s.latency).knows_parts);
  if (const Status timed = check_combinations(parts, s, Known::kScenario); !timed.ok())
    return placed_in_scenario(timed.error());
  s.replicas = integer_of(s, "fleet.replicas").value_or(1);
  s.target_ttft_s = parse_decimal(s.text("targets.ttft_s"));
  s.target_tpot_s = parse_decimal(s.text("targets.tpot_s"));
  s.target_e2e_s = parse_decimal(s.text("targets.e2e_s"));
  s.target_from_s = parse_decimal(s.text("targets.from_s"));
  s.target_to_s = parse_decimal(s.text("targets.to_s"));
  if (s.target_from_s && s.target_to_s && *s.target_from_s >= *s.target_to_s)
    return placed(bad_input("expected a time after targets.from_s (" + s.text("targets.from_s") +
                            "), found " + s.text("targets.to_s")),
                  places[field_index("targets.to_s")]);
  KVPLAN_TRY(s.percentiles, parse_percentile_targets(s.text("targets.percentiles_s")));
  s.prices = s.text("prices");
  KVPLAN_TRY(s.target_fraction, parse_fraction(s.text("targets.fraction")));
  return s;
}

}  // namespace kvplan::runs
