#include "simulator/scenario/settings.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/base/number_input.h"
#include "simulator/base/pair_value.h"
#include "simulator/base/suggest.h"
#include "simulator/scheduling/engines.h"

namespace kvplan::runs {
namespace {

constexpr std::string_view kEnginePath = "engine", kPoolRulePath = "deployment.pool_rule";

/// What a path names: a field, or a parameter of the component in a field.
struct FoundPath {
  std::size_t field;
  std::string_view param;
};

Result<FoundPath> find_path(std::string_view path) {
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < scenario_fields().size(); ++i) {
    const Field& field = scenario_fields()[i];
    known.push_back(field.path);
    if (field.path == path) return FoundPath{i, {}};
    const std::string prefix = std::string(field.path) + ".";
    if (field.kind == FieldKind::kComponent && path.substr(0, prefix.size()) == prefix)
      return FoundPath{i, path.substr(prefix.size())};
  }
  return bad_input(unknown_name("scenario path", path, known));
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

/// Splits a `fleet` that is written as one text: replicas=N,router=NAME. All text after `router=` that is not one of
/// the fleet's own paths belongs to the router: router=NAME:key=value,key=value.
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

Source source_of(const Setting& setting) {
  if (setting.origin == Origin::kDefault) return {};
  if (!setting.option.empty()) return {Source::From::kOption, setting.option};
  if (setting.file.empty()) return {Source::From::kGiven};
  return {Source::From::kFile, setting.file, setting.line};
}

/// Notes where each parameter of a component was given: in the component's latest text, or alone after it.
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

Status apply(const Setting& setting, Scenario& scenario, GivenAt& given_at) {
  const Result<FoundPath> found = find_path(setting.path);
  if (!found) return Error(found.error()).at_file(setting.file).at_line(setting.line);
  const std::size_t i = found.value().field;
  const Field& field = scenario_fields()[i];
  given_at[i] = {std::string(field.path), {}, setting.file, setting.line};
  std::string text = setting.text;
  // A zero character would end paths and expressions early in the libraries that receive them.
  if (text.find('\0') != std::string::npos)
    return error_at(not_expected("a text without the character NUL", text), setting);
  if (!found.value().param.empty()) text = with_param(scenario.texts[i], found.value().param, text);
  // "none" takes a default away: no eviction, no limit, no target.
  if (text == "none" && !field.none.empty()) text = field.none;
  if (text == "none" && field.fallback.empty() && field.kind != FieldKind::kText) {
    scenario.texts[i].clear();
    scenario.sources[i] = source_of(setting);
    return Done{};
  }
  const std::string written = text;
  const Status good = check_value(field, text);
  if (!good) return error_at(good.error(), setting);
  scenario.texts[i] = text;
  // Setting a single parameter keeps the source at which the component was chosen.
  if (found.value().param.empty() || scenario.origin(i) == Origin::kDefault)
    scenario.sources[i] = source_of(setting);
  if (field.kind == FieldKind::kComponent)
    note_params(setting, found.value().param, written, scenario.param_sources[i]);
  return Done{};
}

/// The NAME in `NAME:key=value`.
std::string_view member_name(std::string_view component) {
  return component.substr(0, component.find(':'));
}

/// A stored scenario writes out its defaults. If another engine is chosen, its written pool rule is not a default.
bool is_stale_default(const Setting& setting, std::span<const Setting> settings) {
  if (setting.origin != Origin::kDefault || setting.path != kPoolRulePath) return false;
  return member_name(setting.text) != default_text(scenario_fields()[field_index(kPoolRulePath)], settings);
}

}  // namespace

std::size_t field_index(std::string_view path) {
  for (std::size_t i = 0; i < scenario_fields().size(); ++i)
    if (scenario_fields()[i].path == path) return i;
  check_failed("the scenario has this field", __FILE__, __LINE__);
}

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

Error error_at(Error error, const Setting& setting) {
  if (error.field.empty()) {
    error.field = setting.path;
  } else if (error.field.rfind(setting.path, 0) != 0) {
    error.field = setting.path + ": " + error.field;
  }
  if (error.file.empty()) error.file = setting.file;
  if (error.line == 0) error.line = setting.line;
  return error;
}

Scenario default_scenario(std::span<const Setting> settings) {
  Scenario s;
  for (const Field& field : scenario_fields()) {
    std::string text(default_text(field, settings));
    const bool derived = text != field.fallback;
    if (!text.empty()) KVPLAN_CHECK(check_value(field, text).ok());
    s.texts.push_back(std::move(text));
    s.sources.push_back(derived ? Source{Source::From::kDerived} : Source{});
    s.param_sources.emplace_back();
  }
  return s;
}

Status apply_settings(std::span<const Setting> settings, Scenario& scenario, GivenAt& given_at) {
  for (const Setting& setting : settings) {
    if (is_stale_default(setting, settings)) continue;
    if (setting.path != "fleet") {
      KVPLAN_TRY_DO(apply(setting, scenario, given_at));
      continue;
    }
    for (const Setting& part : spread_fleet(setting)) KVPLAN_TRY_DO(apply(part, scenario, given_at));
  }
  return Done{};
}

bool set_source(Scenario& scenario, std::string_view path, const Source& source) {
  const Result<FoundPath> found = find_path(path);
  if (!found) return false;
  const std::size_t i = found.value().field;
  const std::string_view param = found.value().param;
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
  // Without a device there is no memory to divide.
  if (last_text("deployment.device").empty()) return field.fallback;
  const std::string_view chosen = member_name(last_text(kEnginePath));
  for (const scheduling::Engine* engine : scheduling::engines()) {
    const bool named = engine->scheduler != nullptr && engine->scheduler->descriptor.name == chosen;
    if (named && engine->pool_rule != nullptr) return engine->pool_rule->descriptor.name;
  }
  return field.fallback;
}

}  // namespace kvplan::runs
