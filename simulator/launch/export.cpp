#include "simulator/launch/export.h"

#include <algorithm>

#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/base/utf8.h"
#include "simulator/report/number_text.h"

namespace kvplan::launch {
namespace {

using report::grouped;

/// Words of a command, split at spaces.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// The arguments of a server with its model first.
std::vector<std::string> all_arguments(const Servers& servers) {
  std::vector<std::string> out;
  if (!servers.server->model_flag.empty()) out.emplace_back(servers.server->model_flag);
  out.push_back(servers.model);
  out.insert(out.end(), servers.arguments.begin(), servers.arguments.end());
  return out;
}

/// The arguments of a server in a container, which must be reachable from outside.
std::vector<std::string> container_words(const Servers& servers) {
  std::vector<std::string> out = words_of(servers.server->image_command);
  const auto arguments = all_arguments(servers);
  out.insert(out.end(), arguments.begin(), arguments.end());
  if (!servers.server->image_command.empty()) out.insert(out.end(), {"--host", "0.0.0.0"});
  return out;
}

/// A text in a form that YAML reads back unchanged: JSON strings are YAML strings.
std::string quoted(const std::string& text) {
  JsonWriter json;
  json.value(text);
  std::string out = json.take();
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::string yaml_list(const std::vector<std::string>& words, const std::string& indent) {
  std::string out;
  for (const std::string& word : words) out.append(indent).append("- ").append(quoted(word)).append("\n");
  return out;
}

/// A name of letters, digits and dashes, as Kubernetes requires.
std::string resource_name(const Servers& servers) {
  std::string out = "kvplan-" + servers.model.substr(servers.model.rfind('/') + 1);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) c = '-';
  }
  constexpr std::size_t kMost = 50;
  out.resize(std::min(out.size(), kMost));
  while (out.back() == '-') out.pop_back();
  return out;
}

/// The image of the version that the plan is about.
std::string image_of(const Servers& servers) {
  const std::string_view image = servers.server->image;
  return std::string(image.substr(0, image.find(':'))) + ":v" + servers.version;
}

std::string comments(const Servers& servers, const PoolContract& pool) {
  std::string out;
  const auto line = [&](const std::string& text) { out += "# " + printable(text) + "\n"; };
  std::string what = grouped(servers.count) + (servers.count == 1 ? " server" : " servers") + " of " +
                     grouped(servers.gpus_of_server) + " ";
  what += servers.device.empty() ? (servers.gpus_of_server == 1 ? "GPU" : "GPUs") : servers.device;
  line(what + ", " + std::string(servers.server->product) + " " + servers.version + ".");
  line(contract_text(servers, pool));
  for (const std::string& note : servers.notes) line(note);
  return out;
}

}  // namespace

std::string command_text(const Servers& servers) {
  std::string out;
  for (const auto& [name, value] : servers.variables)
    out += name + "=" + report::shell_quoted(value) + " \\\n";
  out += servers.server->program;
  std::size_t i = 0;
  const std::vector<std::string> arguments = all_arguments(servers);
  if (servers.server->model_flag.empty()) out += " " + report::shell_quoted(arguments[i++]);
  for (; i < arguments.size(); ++i) {
    const bool flag = arguments[i].starts_with("--");
    out += (flag ? " \\\n  " : " ") + report::shell_quoted(arguments[i]);
  }
  return out + "\n";
}

std::string kubernetes_text(const Servers& servers) {
  const std::string name = resource_name(servers);
  const std::string port = std::to_string(servers.server->port);
  std::string out =
      "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name +
      "\nspec:\n  replicas: " + std::to_string(servers.count) +
      "\n  selector:\n    matchLabels:\n      app: " + name +
      "\n  template:\n    metadata:\n      labels:\n        app: " + name +
      "\n    spec:\n      containers:\n      - name: server\n        image: " + quoted(image_of(servers)) +
      "\n";
  const std::vector<std::string> command = words_of(servers.server->image_command);
  std::vector<std::string> arguments = container_words(servers);
  if (!command.empty()) {
    out += "        command:\n" + yaml_list(command, "        ");
    arguments.erase(arguments.begin(), arguments.begin() + std::ssize(command));
  }
  out += "        args:\n" + yaml_list(arguments, "        ");
  if (!servers.variables.empty()) out += "        env:\n";
  for (const auto& [variable, value] : servers.variables)
    out += "        - name: " + variable + "\n          value: " + quoted(value) + "\n";
  out +=
      "        ports:\n        - containerPort: " + port +
      "\n        readinessProbe:\n          httpGet:\n            path: /health\n            port: " + port +
      "\n        resources:\n          limits:\n            nvidia.com/gpu: " +
      std::to_string(servers.gpus_of_server) +
      "\n        volumeMounts:\n        - name: shm\n          mountPath: /dev/shm\n"
      "      volumes:\n      - name: shm\n        emptyDir:\n          medium: Memory\n";
  out += "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: " + name +
         "\nspec:\n  selector:\n    app: " + name + "\n  ports:\n  - port: 80\n    targetPort: " + port +
         "\n";
  return out;
}

std::string compose_text(const Servers& servers) {
  std::string out = "services:\n";
  const std::int64_t port = servers.server->port;
  for (std::int64_t i = 0; i < servers.count; ++i) {
    out += "  server-" + std::to_string(i + 1) + ":\n    image: " + quoted(image_of(servers)) +
           "\n    command:\n" + yaml_list(container_words(servers), "    ");
    if (!servers.variables.empty()) out += "    environment:\n";
    for (const auto& [variable, value] : servers.variables)
      out += "      " + variable + ": " + quoted(value) + "\n";
    out += "    ports:\n    - \"" + std::to_string(port + i) + ":" + std::to_string(port) +
           "\"\n    ipc: host\n";
    out +=
        "    deploy:\n      resources:\n        reservations:\n          devices:\n          - driver: "
        "nvidia\n"
        "            capabilities: [gpu]\n            device_ids: [";
    for (std::int64_t gpu = 0; gpu < servers.gpus_of_server; ++gpu)
      out += (gpu == 0 ? "\"" : ", \"") + std::to_string(i * servers.gpus_of_server + gpu) + "\"";
    out += "]\n";
  }
  return out;
}

std::string contract_text(const Servers& servers, const PoolContract& pool) {
  std::string size = "about " + grouped(pool.tokens);
  if (pool.low && pool.high) size = "between " + grouped(*pool.low) + " and " + grouped(*pool.high);
  return "Each server must log (" + std::string(servers.server->log_words) + ") a KV cache of " + size +
         " tokens. If it does not, this plan does not hold: run kvplan scenario from-log with its log.";
}

Result<std::string> export_text(const Servers& servers, std::string_view form, const PoolContract& pool) {
  if (form == "kubernetes") return comments(servers, pool) + kubernetes_text(servers);
  if (form == "compose") return comments(servers, pool) + compose_text(servers);
  for (const scheduling::ServerCommand* const each : scheduling::server_commands()) {
    // "vllm" is the beginning of "vllm-v1".
    if (!each->engine.starts_with(form) || form.empty()) continue;
    if (each == servers.server) return comments(servers, pool) + command_text(servers);
    return bad_input("expected a scenario with engine " + std::string(each->engine) + ", found " +
                     std::string(servers.server->engine) + ": add --set engine=" + std::string(each->engine) +
                     ", or export for its own engine")
        .at_field("--export");
  }
  return not_expected("one of " + std::string(kExportForms), form).at_field("--export");
}

}  // namespace kvplan::launch
