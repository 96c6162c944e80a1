#include "simulator/cli/server_flag_output.h"

#include <span>

#include "simulator/scheduling/engines.h"
#include "simulator/scheduling/server_flags.h"

namespace kvplan::cli {
namespace {

std::span<const scheduling::ServerFlag> flags_of(const Descriptor& descriptor) {
  for (const scheduling::Engine* engine : scheduling::engines()) {
    const bool its_own = engine->scheduler != nullptr && &engine->scheduler->descriptor == &descriptor;
    if (its_own && engine->server_flags != nullptr) return engine->server_flags();
  }
  return {};
}

std::string line_of(const scheduling::ServerFlag& flag) {
  std::string out(flag.flag);
  if (!flag.alias.empty()) out.append(" (").append(flag.alias).append(")");
  out.append(" sets ").append(flag.path);
  if (!flag.sets.empty()) out.append("=").append(flag.sets);
  for (const scheduling::FlagValue& value : flag.values)
    if (value.flag != value.setting) out.append(", ").append(value.flag).append(" as ").append(value.setting);
  if (!flag.fallback.empty()) out.append("; default ").append(flag.fallback);
  if (!flag.fallback_note.empty())
    out.append(flag.fallback.empty() ? "; default: " : ", ").append(flag.fallback_note);
  return out;
}

std::span<const scheduling::ServerVariable> variables_of(const Descriptor& descriptor) {
  if (flags_of(descriptor).empty()) return {};
  const scheduling::ServerCommand* const command = scheduling::server_command_of(descriptor.name);
  return command == nullptr ? std::span<const scheduling::ServerVariable>() : command->variables;
}

std::string line_of(const scheduling::ServerVariable& variable) {
  std::string out(variable.name);
  if (!variable.sets.empty()) out += "=1";
  out.append(" (environment) sets ").append(variable.path);
  if (!variable.sets.empty()) out.append("=").append(variable.sets);
  if (!variable.fallback.empty()) out.append("; default ").append(variable.fallback);
  return out;
}

}  // namespace

std::vector<std::string> server_flag_lines(const Descriptor& descriptor) {
  std::vector<std::string> out;
  for (const scheduling::ServerFlag& flag : flags_of(descriptor)) out.push_back(line_of(flag));
  for (const scheduling::ServerVariable& each : variables_of(descriptor)) out.push_back(line_of(each));
  return out;
}

void write_server_flags(JsonWriter& json, const Descriptor& descriptor) {
  const auto flags = flags_of(descriptor);
  if (flags.empty()) return;
  const auto text = [&](std::string_view key, std::string_view value) {
    json.key(key);
    value.empty() ? json.null() : json.value(value);
  };
  json.key("server_flags").begin_array();
  for (const scheduling::ServerFlag& flag : flags) {
    json.begin_object().member("flag", flag.flag);
    text("alias", flag.alias);
    json.member("path", flag.path);
    text("sets", flag.sets);
    text("default", flag.fallback);
    text("note", flag.fallback_note);
    json.key("values").begin_object();
    for (const scheduling::FlagValue& value : flag.values) json.member(value.flag, value.setting);
    json.end_object().end_object();
  }
  json.end_array();
  json.key("server_variables").begin_array();
  for (const scheduling::ServerVariable& each : variables_of(descriptor)) {
    json.begin_object().member("name", each.name).member("path", each.path);
    text("sets", each.sets);
    text("default", each.fallback);
    json.end_object();
  }
  json.end_array();
}

}  // namespace kvplan::cli
