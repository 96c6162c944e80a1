// The command that starts a scenario's server, and manifests of it: the reverse of from_command.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"
#include "simulator/scheduling/server_flags.h"

namespace kvplan::launch {

/// The servers of a deployment. All are alike.
struct Servers {
  const scheduling::ServerCommand* server{nullptr};
  std::string
      version;  ///< the one by which the pool was derived; without a derived pool that of the table of flags
  std::string model;  ///< as the engine names it: a repository, or the path of the config's folder
  std::vector<std::pair<std::string, std::string>> variables;  ///< of their environment, by name
  std::vector<std::string> arguments;  ///< flags and values, without program and model
  std::int64_t count{1};               ///< servers, each with its own port
  std::int64_t gpus_of_server{1};
  std::string device;              ///< empty: unknown
  std::string router;              ///< in front of several servers
  std::vector<std::string> notes;  ///< properties that the command cannot express, as whole sentences
};

/// Errors: an engine without a command that kvplan knows.
Result<Servers> servers_of(const runs::Scenario& scenario);

/// The shell command of one server, one flag a line.
std::string command_text(const Servers& servers);
/// A manifest of Kubernetes: a Deployment with as many pods as servers, and a Service.
std::string kubernetes_text(const Servers& servers);
/// A file of Docker Compose: a service for each server.
std::string compose_text(const Servers& servers);

/// The interval, in tokens, in which the pool size that the server logs must lie.
struct PoolContract {
  std::int64_t tokens{0};
  std::optional<std::int64_t> low, high;  ///< absent: the derivation has no interval
};
/// "Each server must log GPU KV cache size: 230,000 to 250,000 tokens; ...": true if the plan's prediction is right.
std::string contract_text(const Servers& servers, const PoolContract& pool);

inline constexpr std::string_view kExportForms = "vllm, sglang, kubernetes, compose";
/// The text in a form of kExportForms, with the contract and the notes as comments. Errors: an unknown form; the form
/// of another engine (field: --export).
Result<std::string> export_text(const Servers& servers, std::string_view form, const PoolContract& pool);

}  // namespace kvplan::launch
