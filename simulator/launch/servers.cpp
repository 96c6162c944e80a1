// From a scenario to the flags of its server.
#include <algorithm>
#include <cctype>

#include "simulator/launch/export.h"
#include "simulator/modelfile/catalogue.h"

namespace kvplan::launch {
namespace {

using scheduling::FlagValue;
using scheduling::ServerFlag;

/// The value at a path of a scenario, or at a parameter of a component; nothing: there is none.
std::optional<std::string> value_at(const runs::Scenario& scenario, std::string_view path) {
  const auto fields = runs::scenario_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& text = scenario.texts[i];
    if (fields[i].path == path) return text.empty() ? std::nullopt : std::optional(text);
    if (fields[i].kind != runs::FieldKind::kComponent || !path.starts_with(fields[i].path)) continue;
    if (path.size() <= fields[i].path.size() || path[fields[i].path.size()] != '.') continue;
    const std::string_view key = path.substr(fields[i].path.size() + 1);
    // NAME:key=value,key=value
    std::string_view rest = text;
    rest.remove_prefix(std::min(rest.find(':'), rest.size() - 1) + 1);
    while (!rest.empty()) {
      const std::size_t end = std::min(end_of_pair(rest), rest.size());
      const std::string_view pair = rest.substr(0, end);
      if (pair.size() > key.size() && pair.starts_with(key) && pair[key.size()] == '=')
        return std::string(pair.substr(key.size() + 1));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class Maker {
 public:
  Maker(const runs::Scenario& scenario, const scheduling::ServerCommand& server) : s_(scenario) {
    out_.server = &server;
    const Choice& rule = s_.deployment.pool_rule.choice;
    const bool derived = s_.derives_pool && rule.name() == server.engine;
    out_.version = derived ? std::string(rule.text("version")) : std::string(server.version);
    if (out_.version.starts_with('v')) out_.version.erase(0, 1);
    if (out_.version != server.version)
      out_.notes.push_back("The flags are those of " + std::string(server.product) + " " +
                           std::string(server.version) + ".");
  }

  Servers take() {
    name_model();
    out_.count = s_.replicas;
    out_.gpus_of_server = s_.deployment.tensor_ranks * s_.deployment.stages;
    if (s_.deployment.device != nullptr) out_.device = s_.deployment.device->name;
    out_.router = std::string(s_.router.name());
    for (const scheduling::ServerVariable& variable : out_.server->variables) add(variable);
    for (const ServerFlag& flag : out_.server->flags()) add(flag);
    add_notes();
    return std::move(out_);
  }

 private:
  void name_model() {
    if (s_.model != nullptr) {
      const auto aliases = model::model_aliases(*s_.model);
      out_.model = aliases.empty() ? s_.model->name : aliases.front();
      // The repository that the scenario names, with or without its organisation.
      const std::string wanted = lower(s_.text("model"));
      for (const std::string& alias : aliases) {
        const std::string name = lower(alias);
        if (name != wanted && name.substr(name.rfind('/') + 1) != wanted) continue;
        out_.model = alias;
        break;
      }
      return;
    }
    out_.model = s_.model_file.substr(0, s_.model_file.rfind('/'));
  }

  void put(const ServerFlag& flag, std::string value) {
    out_.arguments.emplace_back(flag.flag);
    out_.arguments.push_back(std::move(value));
  }

  void add(const scheduling::ServerVariable& variable) {
    const std::optional<std::string> value = value_at(s_, variable.path);
    if (!value || *value == variable.fallback) return;
    if (variable.sets.empty()) {
      out_.variables.emplace_back(variable.name, *value);
    } else if (*value == variable.sets) {
      out_.variables.emplace_back(variable.name, "1");
    }
  }

  void add(const ServerFlag& flag) {
    const std::string_view path = flag.path;
    if (path == "model") return;
    if (path == "fleet.replicas") {
      // The replicas can be data-parallel ranks inside one server.
      if (s_.replicas > 1 && s_.router.name() == out_.server->balancer) {
        put(flag, std::to_string(s_.replicas));
        out_.gpus_of_server *= s_.replicas;
        out_.count = 1;
      }
      return;
    }
    if (path.starts_with("memory.pool_") && s_.origin(path) == runs::Origin::kDefault) return;
    if (path.starts_with("deployment.pool_rule.") && !s_.derives_pool) return;
    const std::optional<std::string> value = value_at(s_, path);
    if (!value) return;
    if (!flag.sets.empty()) {
      if (*value == flag.sets && flag.fallback != flag.sets) out_.arguments.emplace_back(flag.flag);
      return;
    }
    std::string text = *value;
    const auto known = std::find_if(flag.values.begin(), flag.values.end(),
                                    [&](const FlagValue& each) { return each.setting == text; });
    if (known != flag.values.end()) {
      text = known->flag;
    } else if (!flag.values.empty() && text.find_first_not_of("0123456789") != std::string::npos) {
      out_.notes.push_back(std::string(out_.server->product) + " has no " + std::string(flag.flag) + " for " +
                           std::string(path) + "=" + text + ".");
      return;
    }
    if (!flag.fallback.empty() && flag.large_fallback.empty() && same(text, flag.fallback)) return;
    put(flag, std::move(text));
    if (path == "deployment.weight_bits" && *value != "8")
      out_.notes.push_back("The model has to name a checkpoint with " + *value + " bits per weight.");
  }
  static bool same(const std::string& a, std::string_view b) {
    return a == b || a + ".0" == b;  // "1" and "1.0"
  }

  void add_notes() {
    const auto no_flag = [&](const char* what) {
      out_.notes.push_back(std::string(out_.server->product) + " has no flag for " + what +
                           " of the scenario.");
    };
    if (s_.eviction) no_flag("the eviction of tokens");
    if (s_.origin("reader") != runs::Origin::kDefault) no_flag("the sparse attention");
    if (s_.allocator.name() != out_.server->allocator && s_.allocator.name() != out_.server->window_allocator)
      no_flag("the allocator");
    if (s_.window_format) no_flag("the format of layers with a window");
    if (out_.count > 1)
      out_.notes.push_back("A router in front of the servers has to send requests as " + out_.router +
                           " does (kvplan explain " + out_.router + ").");
  }

  const runs::Scenario& s_;
  Servers out_;
};

}  // namespace

Result<Servers> servers_of(const runs::Scenario& scenario) {
  const scheduling::ServerCommand* const server = scheduling::server_command_of(scenario.engine.name());
  if (server == nullptr)
    return bad_input("no server command is known of engine " + std::string(scenario.engine.name()))
        .at_field("engine");
  return Maker(scenario, *server).take();
}

}  // namespace kvplan::launch
