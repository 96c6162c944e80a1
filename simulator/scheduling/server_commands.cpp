// The commands of all engines.
#include <algorithm>
#include <array>

#include "simulator/scheduling/server_flags.h"

namespace kvplan::scheduling {

namespace sglang {
extern const ServerCommand kServerCommand;
}
namespace vllm {
extern const ServerCommand kServerCommand;
}

std::span<const ServerCommand* const> server_commands() {
  static constexpr std::array kAll{&vllm::kServerCommand, &sglang::kServerCommand};
  return kAll;
}

const ServerCommand* server_command_of(std::string_view engine) {
  const auto all = server_commands();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ServerCommand* each) { return each->engine == engine; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace kvplan::scheduling
