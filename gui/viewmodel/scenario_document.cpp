#include "gui/viewmodel/scenario_document.h"

#include <QUndoCommand>
#include <algorithm>
#include <array>

#include "gui/viewmodel/formatting.h"
#include "simulator/base/check.h"
#include "simulator/base/pair_value.h"

namespace kvplan::gui {
namespace {

using runs::Field;
using runs::FieldKind;
using runs::Origin;
using runs::Setting;
using Settings = std::vector<Setting>;

constexpr std::string_view kPool = "memory.pool_";

/// The field of a path, and the parameter where the path names one of a component.
struct Place {
  const Field* field{nullptr};
  std::string_view param;
};

Place place_of(std::string_view path) {
  for (const Field& field : runs::scenario_fields()) {
    if (path == field.path) return {&field, {}};
    if (field.kind == FieldKind::kComponent && path.size() > field.path.size() &&
        path.substr(0, field.path.size()) == field.path && path[field.path.size()] == '.')
      return {&field, path.substr(field.path.size() + 1)};
  }
  return {};
}

const Setting* find(const Settings& settings, std::string_view path) {
  const auto at =
      std::find_if(settings.begin(), settings.end(), [&](const Setting& s) { return s.path == path; });
  return at == settings.end() ? nullptr : &*at;
}

void erase(Settings& settings, std::string_view path) {
  std::erase_if(settings, [&](const Setting& s) { return s.path == path; });
}

/// Inserts a setting at its field's position in the order of all fields. `default_params` and `origin`: as read from
/// a file; what the user gives is "given".
void put(Settings& settings, std::string_view path, std::string text,
         std::vector<std::string> default_params = {}, Origin origin = Origin::kGiven) {
  erase(settings, path);
  const auto rank = [](std::string_view p) { return place_of(p).field - runs::scenario_fields().data(); };
  const auto at = std::find_if(settings.begin(), settings.end(),
                               [&](const Setting& s) { return rank(s.path) > rank(path); });
  settings.insert(at, Setting{std::string(path), std::move(text), {}, 0, origin, std::move(default_params)});
}

/// NAME:a=1,b=2 in parts. Parameters that are written twice are kept twice, for the check to refuse.
struct Component {
  std::string name;
  std::vector<std::pair<std::string, std::string>> params;

  explicit Component(std::string_view text) {
    const std::size_t colon = text.find(':');
    name = text.substr(0, colon);
    std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    while (!rest.empty()) {
      const std::size_t comma = end_of_pair(rest);
      const std::string_view item = rest.substr(0, comma);
      const std::size_t equals = std::min(item.find('='), item.size());
      params.emplace_back(item.substr(0, equals), item.substr(std::min(equals + 1, item.size())));
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
  }
  void set(std::string_view param, std::string_view text) {
    for (auto& [key, value] : params) {
      if (key != param) continue;
      value = text;
      return;
    }
    params.emplace_back(param, text);
  }
  void erase(std::string_view param) {
    std::erase_if(params, [&](const auto& item) { return item.first == param; });
  }
  [[nodiscard]] std::string text() const {
    std::string out = name;
    char separator = ':';
    for (const auto& [key, value] : params) {
      out.append(1, separator).append(key).append("=").append(pair_value(value));
      separator = ',';
    }
    return out;
  }
};

/// The component as given so far, or its default.
Component component_of(const Settings& settings, const Field& field) {
  const Setting* given = find(settings, field.path);
  return Component(given != nullptr ? std::string_view(given->text) : runs::default_text(field, settings));
}

/// An initial value for a parameter that must be given: a window that has an effect on common traces, within its
/// range.
std::string first_value(const Param& param) {
  constexpr double kUsualTokens = 1024;
  if (param.kind == ParamKind::kText) return param.choices.empty() ? "" : std::string(param.choices.front());
  if (param.kind == ParamKind::kFlag) return "false";
  const double wanted = param.unit == Unit::kTokens ? kUsualTokens : param.low;
  return std::to_string(static_cast<std::int64_t>(std::clamp(wanted, param.low, param.high)));
}

/// The component without parameters, but for those that have no default.
std::string fresh_component(const Field& field, std::string_view name) {
  Component component(name);
  for (const Descriptor* descriptor : runs::family_descriptors(field.family)) {
    if (descriptor->name != name) continue;
    for (const Param& param : descriptor->params)
      if (param.fallback.empty()) component.set(param.name, first_value(param));
  }
  return component.text();
}

/// Parameters of the component that `settings` lists although they have default values, without `param`.
std::vector<std::string> default_params_but(const Settings& settings, const Field& field,
                                            std::string_view param) {
  const Setting* const setting = find(settings, field.path);
  std::vector<std::string> names = setting != nullptr ? setting->default_params : std::vector<std::string>{};
  std::erase(names, param);
  return names;
}

/// Sets one parameter of a component; the others stay as they are.
void put_param(Settings& settings, const Field& field, std::string_view param, std::string_view text) {
  Component component = component_of(settings, field);
  component.set(param, text);
  put(settings, field.path, component.text(), default_params_but(settings, field, param));
}

/// A component as a file has it, without the parameters that are what this program takes where none is given.
void put_component(Settings& settings, const Field& field, const Setting& setting) {
  Component component(setting.text);
  std::vector<std::string> default_params = setting.default_params;
  if (setting.origin == Origin::kDefault)
    for (const auto& [name, value] : component.params) default_params.push_back(name);
  for (const Descriptor* descriptor : runs::family_descriptors(field.family)) {
    if (descriptor->name != component.name) continue;
    for (const Param& param : descriptor->params) {
      const auto as_here = [&](const auto& item) {
        return item.first == param.name && item.second == param.fallback;
      };
      if (std::erase(default_params, param.name) == 0) continue;
      if (std::erase_if(component.params, as_here) == 0) default_params.emplace_back(param.name);
    }
  }
  const std::string text = component.text();
  if (setting.origin == Origin::kGiven || text != field.fallback)
    put(settings, field.path, text, std::move(default_params), setting.origin);
}

/// Converts settings (a component here, one of its parameters there) to the form that this class keeps. Defaults
/// named in a file are left out if this program has the same default; other values stay, marked as defaults. Unknown
/// paths stay unchanged; `resolve` reports them.
Settings in_order(std::span<const Setting> settings) {
  Settings out;
  for (const Setting& setting : settings) {
    const Place place = place_of(setting.path);
    if (place.field == nullptr) {
      out.push_back(setting);
    } else if (!place.param.empty()) {
      put_param(out, *place.field, place.param, setting.text);
    } else if (place.field->kind == FieldKind::kComponent) {
      put_component(out, *place.field, setting);
    } else if (setting.origin == Origin::kGiven || setting.text != place.field->fallback) {
      put(out, setting.path, setting.text, {}, setting.origin);
    }
  }
  return out;
}

bool is_pool(std::string_view path) {
  return path.substr(0, kPool.size()) == kPool;
}

}  // namespace

/// One edit, as the settings before and after it: a scenario has under twenty of them.
class ScenarioDocument::Step final : public QUndoCommand {
 public:
  Step(ScenarioDocument* document, Settings before, Settings after, int merge, const QString& label)
      : QUndoCommand(label),
        document_(document),
        before_(std::move(before)),
        after_(std::move(after)),
        merge_(merge) {}

  void undo() override {
    document_->apply(before_, true);
    merge_ = 0;  // an edit after an undo is a new step
  }
  void redo() override { document_->apply(after_, merge_ == 0); }
  [[nodiscard]] int id() const override { return merge_ == 0 ? -1 : merge_; }
  bool mergeWith(const QUndoCommand* other) override {
    after_ = static_cast<const Step*>(other)->after_;  // Qt calls this only for equal ids, and all are ours
    return true;
  }

 private:
  ScenarioDocument* document_;
  Settings before_, after_;
  int merge_;
};

ScenarioDocument::ScenarioDocument(QObject* parent) : QObject(parent), scenario_(runs::resolve({}).value()) {}

Status ScenarioDocument::load(std::span<const Setting> settings) {
  KVPLAN_TRY(runs::Scenario checked, runs::resolve(settings));
  undo_.clear();
  settings_ = in_order(settings);
  scenario_ = std::move(checked);
  Q_EMIT changed(true);
  return Done{};
}

Status ScenarioDocument::set(std::string_view path, std::string_view text, int merge) {
  Settings next = settings_;
  const Place place = place_of(path);
  if (place.field == nullptr) {
    next.push_back({std::string(path), std::string(text), {}, 0});
  } else if (!place.param.empty()) {
    put_param(next, *place.field, place.param, text);
  } else if (text.empty()) {
    erase(next, path);
  } else if (place.field->kind == FieldKind::kComponent && text.find(':') == std::string_view::npos) {
    put(next, path, fresh_component(*place.field, text));
  } else {
    if (is_pool(path)) std::erase_if(next, [](const Setting& s) { return is_pool(s.path); });
    put(next, path, std::string(text));
  }
  return push(std::move(next), path, merge);
}

Status ScenarioDocument::reset(std::string_view path) {
  Settings next = settings_;
  const Place place = place_of(path);
  if (place.field != nullptr && !place.param.empty()) {
    Component component = component_of(next, *place.field);
    component.erase(place.param);
    if (component.text() == place.field->fallback) {
      erase(next, place.field->path);
    } else {
      put(next, place.field->path, component.text(), default_params_but(next, *place.field, place.param));
    }
  } else {
    erase(next, path);
  }
  return push(std::move(next), path, 0);
}

Status ScenarioDocument::replace(std::span<const Setting> settings) {
  return push(in_order(settings), "scenario", 0);
}

void ScenarioDocument::take_back(int merge) {
  const int newest = undo_.index() - 1;
  if (merge != 0 && newest >= 0 && undo_.command(newest)->id() == merge) undo_.undo();
}

bool ScenarioDocument::is_given(std::string_view path) const {
  const Place place = place_of(path);
  if (place.field == nullptr) return false;
  const Setting* setting = find(settings_, place.field->path);
  if (setting == nullptr || setting->origin == Origin::kDefault) return false;
  if (place.param.empty()) return true;
  const auto& defaults = setting->default_params;
  if (std::find(defaults.begin(), defaults.end(), place.param) != defaults.end()) return false;
  const Component component(setting->text);
  return std::any_of(component.params.begin(), component.params.end(),
                     [&](const auto& item) { return item.first == place.param; });
}

Status ScenarioDocument::push(Settings next, std::string_view path, int merge) {
  KVPLAN_TRY(const runs::Scenario checked, runs::resolve(next));
  const bool same = next.size() == settings_.size() &&
                    std::equal(next.begin(), next.end(), settings_.begin(), [](const auto& a, const auto& b) {
                      return a.path == b.path && a.text == b.text && a.origin == b.origin &&
                             a.default_params == b.default_params;
                    });
  if (!same) undo_.push(new Step(this, settings_, std::move(next), merge, to_qstring(path)));
  return Done{};
}

void ScenarioDocument::apply(const Settings& settings, bool discrete) {
  auto checked = runs::resolve(settings);
  KVPLAN_CHECK(checked.ok());  // it did when the step was made
  settings_ = settings;
  scenario_ = std::move(checked).value();
  Q_EMIT changed(discrete);
}

std::string command_line(const Settings& settings) {
  const auto quoted = [](std::string_view text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
    std::string out = "'";
    for (const char c : text) {
      if (c == '\'') {
        out += "'\\''";
      } else {
        out += c;
      }
    }
    return out += "'";
  };
  std::string out = "kvplan run";
  const Setting* trace = find(settings, "workload.trace");
  if (trace != nullptr) {
    // A leading dash would be taken for an option.
    const bool dash = !trace->text.empty() && trace->text.front() == '-';
    out += " " + quoted(dash ? "./" + trace->text : trace->text);
  }
  for (const Setting& setting : settings)
    if (setting.path != "workload.trace") out += " --set " + quoted(setting.path + "=" + setting.text);
  return out;
}

}  // namespace kvplan::gui
