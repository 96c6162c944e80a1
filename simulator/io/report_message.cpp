#include "simulator/io/report_message.h"

#include <simdjson.h>

#include <map>
#include <set>

#include "proto/report.pb.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/utf8.h"
#include "simulator/io/scenario_json.h"
#include "simulator/io/scenario_message.h"
#include "simulator/results/report.h"

namespace kvplan::io {
namespace {

namespace od = simdjson::ondemand;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::string_view kOrigins = "scenario_origins";

/// Fills a report from one JSON document.
class ReportReader {
 public:
  ReportReader(std::string_view text, const std::string& file)
      : padded_(without_byte_order_mark(text)), file_(file) {}

  Status read(v1::Report& report) {
    auto document = parser_.iterate(padded_);
    if (document.error()) return wrong(simdjson::error_message(document.error()), "");
    auto object = document.get_object();
    if (object.error()) return wrong("expected a JSON object", "");
    KVPLAN_TRY_DO(read_object(object.value_unsafe(), report, ""));
    const char* rest = nullptr;
    if (document.current_location().get(rest) == simdjson::SUCCESS)
      return wrong("expected nothing after the object", "");
    return fill_scenario(report);
  }

 private:
  [[nodiscard]] Error wrong(std::string message, std::string_view path) const {
    return bad_input(std::move(message)).at_file(file_).at_field(path);
  }
  [[nodiscard]] Error wrong(simdjson::error_code code, std::string_view path) const {
    return wrong(simdjson::error_message(code), path);
  }

  static std::string below(const std::string& prefix, const std::string& key) {
    std::string path = prefix;
    return path.append(".").append(key);
  }

  Status read_object(od::object object, Message& message, const std::string& prefix) {
    std::set<std::string> seen;
    for (auto item : object) {
      std::string_view name;
      if (const auto error = item.unescaped_key().get(name)) return wrong(error, prefix);
      const std::string key(name);
      const std::string path = prefix.empty() ? key : below(prefix, key);
      if (!seen.insert(key).second) return wrong("expected one value, found a second", path);
      od::value value;
      if (const auto error = item.value().get(value)) return wrong(error, path);
      if (prefix.empty() && key == kOrigins) {
        KVPLAN_TRY_DO(read_origins(value));
        continue;
      }
      const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(key);
      if (field == nullptr) return wrong("this is not a report key", path);
      KVPLAN_TRY_DO(field->is_repeated() ? read_array(value, message, *field, path)
                                         : read_value(value, message, *field, path));
    }
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      if (!field.has_presence() && !field.is_repeated() && !seen.contains(field.name()))
        return wrong("expected \"" + field.name() + "\"", prefix);
    }
    return Done{};
  }

  Status read_array(od::value value, Message& message, const FieldDescriptor& field,
                    const std::string& path) {
    od::array array;
    if (value.get_array().get(array)) return wrong("expected an array", path);
    for (auto item : array) {
      od::value element;
      if (const auto error = item.get(element)) return wrong(error, path);
      if (message.GetReflection()->FieldSize(message, &field) >= kMostReplicas &&
          field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        return wrong("expected at most " + std::to_string(kMostReplicas) + " entries", path);
      KVPLAN_TRY_DO(read_value(element, message, field, path));
    }
    return Done{};
  }

  /// Reads one value into a field; for a repeated field, appends it.
  Status read_value(od::value value, Message& message, const FieldDescriptor& field,
                    const std::string& path) {
    od::json_type type{};
    if (const auto error = value.type().get(type)) return wrong(error, path);
    if (type == od::json_type::null) {
      bool null = false;
      if (const auto error = value.is_null().get(null)) return wrong(error, path);
      return field.has_presence() ? Status(Done{}) : wrong("expected a value, found null", path);
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      return read_message(value, message, field, path);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      std::string_view text;
      if (value.get_string().get(text)) return wrong("expected a string", path);
      set(message, field, std::string(text), &Reflection::SetString, &Reflection::AddString);
      return Done{};
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      bool flag = false;
      if (value.get_bool().get(flag)) return wrong("expected true or false", path);
      set(message, field, flag, &Reflection::SetBool, &Reflection::AddBool);
      return Done{};
    }
    return read_number(value, message, field, path);
  }

  Status read_number(od::value value, Message& message, const FieldDescriptor& field,
                     const std::string& path) {
    double checked = 0;  // checks the number, and moves the reader past it
    std::string_view token = value.raw_json_token();
    while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
    const std::string digits(token.substr(0, 400));
    if (value.get_double().get(checked)) return wrong("expected a number", path);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      const auto number = parse_integer(digits);
      if (!number) return wrong("expected a whole number, found " + digits.substr(0, 40), path);
      set(message, field, *number, &Reflection::SetInt64, &Reflection::AddInt64);
      return Done{};
    }
    KVPLAN_CHECK(field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE);
    const auto number = parse_decimal(digits);
    if (!number) return wrong("expected a number, found " + digits.substr(0, 40), path);
    set(message, field, *number, &Reflection::SetDouble, &Reflection::AddDouble);
    return Done{};
  }

  Status read_message(od::value value, Message& message, const FieldDescriptor& field,
                      const std::string& path) {
    od::object object;
    if (value.get_object().get(object)) return wrong("expected an object", path);
    if (field.message_type() == v1::Scenario::descriptor()) {
      std::string_view raw;
      if (const auto error = object.raw_json().get(raw)) return wrong(error, path);
      scenario_ = raw;
      return Done{};
    }
    Message& below = field.is_repeated() ? *message.GetReflection()->AddMessage(&message, &field)
                                         : *message.GetReflection()->MutableMessage(&message, &field);
    return read_object(object, below, path);
  }

  Status read_origins(od::value value) {
    od::object object;
    if (value.get_object().get(object)) return wrong("expected an object", kOrigins);
    for (auto item : object) {
      std::string_view path, origin;
      if (const auto error = item.unescaped_key().get(path)) return wrong(error, kOrigins);
      const std::string key(path);
      if (item.value().get_string().get(origin)) return wrong("expected a string", kOrigins);
      origins_[key] = origin;
    }
    return Done{};
  }

  Status fill_scenario(v1::Report& report) {
    const auto placed = [&](Error error) {
      error.line = 0;  // the line is counted from where the scenario begins
      error.field = error.field.empty() ? "scenario" : "scenario." + error.field;
      return std::move(error).at_file(file_);
    };
    if (scenario_.empty()) return wrong("expected \"scenario\"", "");
    auto settings = parse_scenario(scenario_, file_);
    if (!settings.ok()) return placed(std::move(settings).error());
    apply_origins(origins_, settings.value());
    const auto scenario = runs::resolve(settings.value());
    if (!scenario.ok()) return placed(scenario.error());
    return io::fill_message(scenario.value(), *report.mutable_scenario());
  }

  using Reflection = google::protobuf::Reflection;
  template <class T, class Set, class Add>
  static void set(Message& message, const FieldDescriptor& field, T value, Set set, Add add) {
    const Reflection& reflection = *message.GetReflection();
    field.is_repeated() ? (reflection.*add)(&message, &field, std::move(value))
                        : (reflection.*set)(&message, &field, std::move(value));
  }

  simdjson::padded_string padded_;
  std::string file_;
  od::parser parser_;
  std::string scenario_;  // text of the report's scenario
  std::map<std::string, std::string> origins_;
};

Status write_message(JsonWriter& json, const Message& message);

/// Entry `index` of a repeated field, or (-1) the value of another one.
Status write_value(JsonWriter& json, const Message& message, const FieldDescriptor& field, int index) {
  const auto& reflection = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return write_message(json, one ? reflection.GetMessage(message, &field)
                                     : reflection.GetRepeatedMessage(message, &field, index));
    case FieldDescriptor::CPPTYPE_STRING:
      json.value(one ? reflection.GetString(message, &field)
                     : reflection.GetRepeatedString(message, &field, index));
      return Done{};
    case FieldDescriptor::CPPTYPE_INT64:
      json.value(one ? reflection.GetInt64(message, &field)
                     : reflection.GetRepeatedInt64(message, &field, index));
      return Done{};
    case FieldDescriptor::CPPTYPE_BOOL:
      json.value(one ? reflection.GetBool(message, &field)
                     : reflection.GetRepeatedBool(message, &field, index));
      return Done{};
    default:
      KVPLAN_CHECK(field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE);
      json.value(one ? reflection.GetDouble(message, &field)
                     : reflection.GetRepeatedDouble(message, &field, index));
      return Done{};
  }
}

Status write_message(JsonWriter& json, const Message& message) {
  const auto& reflection = *message.GetReflection();
  json.begin_object();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (!field.is_repeated() && field.message_type() == v1::Scenario::descriptor()) {
      KVPLAN_TRY_DO(
          write_scenario(json, dynamic_cast<const v1::Scenario&>(reflection.GetMessage(message, &field))));
      continue;
    }
    json.key(field.name());
    if (field.is_repeated()) {
      json.begin_array();
      for (int k = 0; k < reflection.FieldSize(message, &field); ++k)
        KVPLAN_TRY_DO(write_value(json, message, field, k));
      json.end_array();
    } else if (field.has_presence() && !reflection.HasField(message, &field)) {
      json.null();
    } else {
      KVPLAN_TRY_DO(write_value(json, message, field, -1));
    }
  }
  json.end_object();
  return Done{};
}

}  // namespace

bool looks_like_report_json(std::string_view begin) {
  const std::size_t brace = begin.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (brace == std::string_view::npos || begin[brace] != '{') return false;
  const std::size_t quote = begin.find_first_not_of(" \t\r\n", brace + 1);
  constexpr std::string_view kFirst = "\"scenario\"";
  return quote != std::string_view::npos && begin.substr(quote, kFirst.size()) == kFirst;
}

Status parse_report(std::string_view json, const std::string& file, v1::Report& message) {
  return ReportReader(json, file).read(message);
}

Result<std::string> report_json(const v1::Report& message) {
  if (message.replicas_size() > kMostReplicas)
    return bad_input("expected at most " + std::to_string(kMostReplicas) + " replicas, found " +
                     std::to_string(message.replicas_size()));
  JsonWriter json;
  KVPLAN_TRY_DO(write_message(json, message));
  return json.take();
}

Status fill_message(const runs::RunSummary& result, v1::Report& message) {
  // Takes the JSON text as the source, so that there is only one list of keys. File names, which JSON may have to
  // escape, come from the scenario itself.
  KVPLAN_TRY_DO(parse_report(runs::report_json(result), "", message));
  message.clear_scenario();
  return fill_message(result.scenario, *message.mutable_scenario());
}

}  // namespace kvplan::io
