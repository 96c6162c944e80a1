#include "simulator/io/scenario_message.h"

#include <algorithm>
#include <functional>

#include "proto/scenario.pb.h"
#include "simulator/base/number_input.h"
#include "simulator/base/pair_value.h"

namespace kvplan::io {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// A position on the way along a path: a field of a message. `value` is null where a value type is absent.
struct Stop {
  const std::string& path;
  const FieldDescriptor& field;
  const Message* value;
};

bool is_value(const google::protobuf::Descriptor* type) {
  return type == v1::Text::descriptor() || type == v1::Integer::descriptor() ||
         type == v1::Decimal::descriptor() || type == v1::Component::descriptor();
}

/// All values in the order of the schema, those of absent groups included.
Status each_value(const Message& group, const std::string& prefix,
                  const std::function<Status(const Stop&)>& visit) {
  const auto& reflection = *group.GetReflection();
  for (int i = 0; i < group.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *group.GetDescriptor()->field(i);
    const std::string path = prefix + field.name();
    const Message& below = reflection.GetMessage(group, &field);
    if (is_value(field.message_type())) {
      KVPLAN_TRY_DO(visit({path, field, reflection.HasField(group, &field) ? &below : nullptr}));
    } else {
      KVPLAN_TRY_DO(each_value(below, path + ".", visit));
    }
  }
  return Done{};
}

/// The message at a path, created if it was absent; null if the schema has no such message.
Message* message_at(Message& root, std::string_view path) {
  Message* at = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const FieldDescriptor* field = at->GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
    if (field == nullptr || is_value(at->GetDescriptor())) return nullptr;
    at = at->GetReflection()->MutableMessage(at, field);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return is_value(at->GetDescriptor()) ? at : nullptr;
}

v1::Origin origin_of(runs::Origin origin) {
  return origin == runs::Origin::kGiven ? v1::GIVEN : v1::DEFAULT;
}

Result<runs::Origin> origin_of(v1::Origin origin) {
  if (origin == v1::DEFAULT) return runs::Origin::kDefault;
  if (origin == v1::GIVEN || origin == v1::ORIGIN_UNSPECIFIED) return runs::Origin::kGiven;
  return bad_input("expected the origin GIVEN or DEFAULT, found " + std::to_string(static_cast<int>(origin)));
}

Result<runs::Origin> origin_of(const Message& value) {
  if (const auto* text = dynamic_cast<const v1::Text*>(&value)) return origin_of(text->origin());
  if (const auto* integer = dynamic_cast<const v1::Integer*>(&value)) return origin_of(integer->origin());
  if (const auto* decimal = dynamic_cast<const v1::Decimal*>(&value)) return origin_of(decimal->origin());
  return origin_of(dynamic_cast<const v1::Component&>(value).origin());
}

void fill_component(const Choice& choice, const runs::Scenario& scenario, std::size_t field,
                    v1::Component& component) {
  component.set_name(std::string(choice.name()));
  for (const Param& param : choice.descriptor().params) {
    if (!choice.says(param.name)) continue;
    v1::Parameter& out = *component.add_parameters();
    out.set_name(std::string(param.name));
    out.set_origin(origin_of(scenario.param_origin(field, param.name)));
    switch (param.kind) {
      case ParamKind::kInteger:
        out.set_integer(choice.integer(param.name));
        break;
      case ParamKind::kFlag:
        out.set_flag(choice.flag(param.name));
        break;
      case ParamKind::kDecimal:
        out.set_decimal(choice.text(param.name));
        break;
      case ParamKind::kText:
        out.set_text(choice.text(param.name));
        break;
    }
  }
}

Status fill_value(const runs::Scenario& scenario, std::size_t i, Message& value) {
  const runs::Field& field = runs::scenario_fields()[i];
  const std::string& text = scenario.texts[i];
  const v1::Origin from = origin_of(scenario.origin(i));
  const auto wrong_type = [] { return bad_input("the schema has a different value type"); };
  if (auto* component = dynamic_cast<v1::Component*>(&value)) {
    if (field.kind != runs::FieldKind::kComponent) return wrong_type();
    KVPLAN_TRY(const Choice choice, runs::parse_member(field.family, text));
    fill_component(choice, scenario, i, *component);
    component->set_origin(from);
  } else if (auto* integer = dynamic_cast<v1::Integer*>(&value)) {
    const auto number = parse_integer(text);
    if (number) {
      integer->set_value(*number);
    } else if (field.kind == runs::FieldKind::kFraction) {
      integer->set_digits(text);
    }
    if (field.kind != runs::FieldKind::kFraction && (field.kind != runs::FieldKind::kInteger || !number))
      return wrong_type();
    integer->set_origin(from);
  } else if (auto* decimal = dynamic_cast<v1::Decimal*>(&value)) {
    if (field.kind != runs::FieldKind::kSeconds) return wrong_type();
    decimal->set_digits(text);
    decimal->set_origin(from);
  } else {
    using Kind = runs::FieldKind;
    if (field.kind != Kind::kText && field.kind != Kind::kFraction && field.kind != Kind::kPercentiles)
      return wrong_type();
    auto& plain = dynamic_cast<v1::Text&>(value);
    plain.set_value(text);
    plain.set_origin(from);
  }
  return Done{};
}

Result<std::string> text_of(const v1::Parameter& parameter) {
  switch (parameter.value_case()) {
    case v1::Parameter::kInteger:
      return std::to_string(parameter.integer());
    case v1::Parameter::kFlag:
      return std::string(parameter.flag() ? "true" : "false");
    case v1::Parameter::kDecimal:
      return parameter.decimal();
    case v1::Parameter::kText:
      return parameter.text();
    case v1::Parameter::VALUE_NOT_SET:
      break;
  }
  return bad_input("the parameter " + found_text(parameter.name()) + " has no value");
}

/// NAME:key=value,... as runs::resolve reads it; what would be read there as more than one part is refused.
Result<std::string> text_of(const v1::Component& component) {
  if (component.name().empty() || component.name().find_first_of(":,=") != std::string::npos)
    return not_expected("the name of a component", component.name());
  std::string out = component.name();
  for (const v1::Parameter& parameter : component.parameters()) {
    KVPLAN_TRY(const std::string text, text_of(parameter));
    if (parameter.name().empty() || parameter.name().find_first_of(",=") != std::string::npos ||
        (text.find(',') != std::string::npos && text.find('"') != std::string::npos))
      return not_expected("a parameter", parameter.name() + "=" + text);
    out.append(out.size() == component.name().size() ? ":" : ",");
    out.append(parameter.name()).append("=").append(pair_value(text));
  }
  return out;
}

Result<std::string> text_of(const Message& value) {
  if (const auto* text = dynamic_cast<const v1::Text*>(&value)) return text->value();
  if (const auto* integer = dynamic_cast<const v1::Integer*>(&value))
    return integer->digits().empty() ? std::to_string(integer->value()) : integer->digits();
  if (const auto* decimal = dynamic_cast<const v1::Decimal*>(&value)) return decimal->digits();
  return text_of(dynamic_cast<const v1::Component&>(value));
}

/// Parameters of a component that are defaults.
Result<std::vector<std::string>> default_params(const Message& value, const std::string& path) {
  std::vector<std::string> out;
  const auto* component = dynamic_cast<const v1::Component*>(&value);
  for (int i = 0; component != nullptr && i < component->parameters_size(); ++i) {
    const v1::Parameter& parameter = component->parameters(i);
    const Result<runs::Origin> origin = origin_of(parameter.origin());
    if (!origin.ok()) return Error(origin.error()).at_field(path + "." + parameter.name());
    if (origin.value() == runs::Origin::kDefault) out.push_back(parameter.name());
  }
  return out;
}

Status write_component(JsonWriter& json, const v1::Component& component) {
  json.begin_object().member("name", component.name());
  for (const v1::Parameter& parameter : component.parameters()) {
    json.key(parameter.name());
    if (parameter.has_integer()) {
      json.value(parameter.integer());
    } else if (parameter.has_flag()) {
      json.value(parameter.flag());
    } else if (parameter.has_decimal()) {
      if (!parse_decimal(parameter.decimal())) return not_expected("a decimal number", parameter.decimal());
      json.digits(parameter.decimal());
    } else {
      KVPLAN_TRY(const std::string text, text_of(parameter));
      json.value(text);
    }
  }
  json.end_object();
  return Done{};
}

bool is_fraction(std::string_view path) {
  const auto fields = runs::scenario_fields();
  return std::any_of(fields.begin(), fields.end(), [&](const runs::Field& field) {
    return field.path == path && field.kind == runs::FieldKind::kFraction;
  });
}

Status write_value(JsonWriter& json, std::string_view path, const Message* value) {
  if (value == nullptr) {
    json.null();
  } else if (const auto* component = dynamic_cast<const v1::Component*>(value)) {
    return write_component(json, *component);
  } else if (const auto* integer = dynamic_cast<const v1::Integer*>(value)) {
    const std::string& digits = integer->digits();
    if (digits.empty()) {
      json.value(integer->value());
    } else {
      parse_decimal(digits) ? json.digits(digits) : json.value(digits);
    }
  } else if (const auto* decimal = dynamic_cast<const v1::Decimal*>(value)) {
    const auto number = parse_decimal(decimal->digits());
    if (!number) return not_expected("a decimal number", decimal->digits());
    json.value(*number);
  } else {
    const std::string& text = dynamic_cast<const v1::Text&>(*value).value();
    is_fraction(path) && parse_decimal(text) ? json.digits(text) : json.value(text);
  }
  return Done{};
}

}  // namespace

Status fill_message(const runs::Scenario& scenario, v1::Scenario& message) {
  for (std::size_t i = 0; i < runs::scenario_fields().size(); ++i) {
    const runs::Field& field = runs::scenario_fields()[i];
    if (scenario.texts[i].empty()) continue;
    Message* value = message_at(message, field.path);
    if (value == nullptr) return bad_input("the schema has no field for this path").at_field(field.path);
    Status filled = fill_value(scenario, i, *value);
    if (!filled.ok()) return std::move(filled).error().at_field(field.path);
  }
  return Done{};
}

Result<std::vector<runs::Setting>> settings_of(const v1::Scenario& message) {
  if (holds_unknown_fields(message))
    return bad_input("holds values that this version does not know: a later version of kvplan wrote it");
  std::vector<runs::Setting> settings;
  KVPLAN_TRY_DO(each_value(message, "", [&](const Stop& stop) -> Status {
    if (stop.value == nullptr) return Done{};
    Result<std::string> text = text_of(*stop.value);
    if (!text.ok()) return std::move(text).error().at_field(stop.path);
    const Result<runs::Origin> origin = origin_of(*stop.value);
    if (!origin.ok()) return Error(origin.error()).at_field(stop.path);
    KVPLAN_TRY(std::vector<std::string> defaults, default_params(*stop.value, stop.path));
    settings.push_back({stop.path, std::move(text).value(), {}, 0, origin.value(), std::move(defaults)});
    return Done{};
  }));
  return settings;
}

Status write_scenario(JsonWriter& json, const v1::Scenario& message, bool fields_only) {
  if (!fields_only) json.key("scenario").begin_object();
  std::string open;
  KVPLAN_TRY_DO(each_value(message, "", [&](const Stop& stop) -> Status {
    const std::size_t dot = stop.path.find('.');
    const std::string group = dot == std::string::npos ? std::string() : stop.path.substr(0, dot);
    if (group != open) {
      if (!open.empty()) json.end_object();
      if (!group.empty()) json.key(group).begin_object();
      open = group;
    }
    json.key(stop.field.name());
    Status written = write_value(json, stop.path, stop.value);
    if (!written.ok()) return std::move(written).error().at_field(stop.path);
    return Done{};
  }));
  if (!open.empty()) json.end_object();
  if (!fields_only) json.end_object();
  json.key("scenario_origins").begin_object();
  KVPLAN_TRY_DO(each_value(message, "", [&](const Stop& stop) -> Status {
    if (stop.value == nullptr) return Done{};
    const Result<runs::Origin> origin = origin_of(*stop.value);
    if (!origin.ok()) return Error(origin.error()).at_field(stop.path);
    const auto told = [&](const std::string& path, runs::Origin from) {
      json.member(path, from == runs::Origin::kGiven ? "given" : "default");
    };
    told(stop.path, origin.value());
    KVPLAN_TRY(const std::vector<std::string> defaults, default_params(*stop.value, stop.path));
    const auto* component = dynamic_cast<const v1::Component*>(stop.value);
    for (int i = 0; component != nullptr && i < component->parameters_size(); ++i) {
      const std::string& name = component->parameters(i).name();
      const bool is_default = std::find(defaults.begin(), defaults.end(), name) != defaults.end();
      told(stop.path + "." + name, is_default ? runs::Origin::kDefault : runs::Origin::kGiven);
    }
    return Done{};
  }));
  json.end_object();
  return Done{};
}

bool holds_unknown_fields(const Message& message) {
  const auto& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty()) return true;
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  return std::any_of(fields.begin(), fields.end(), [&](const FieldDescriptor* field) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return false;
    if (!field->is_repeated()) return holds_unknown_fields(reflection.GetMessage(message, field));
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      if (holds_unknown_fields(reflection.GetRepeatedMessage(message, field, i))) return true;
    return false;
  });
}

}  // namespace kvplan::io
