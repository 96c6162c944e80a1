// Parts that this folder's engine.cpp puts together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "simulator/model/pool_rule.h"
#include "simulator/scheduling/engine.h"
#include "simulator/scheduling/server_flags.h"

namespace kvplan::scheduling::vllm {

extern const model::PoolRule kPoolRule;      // pool_rule.cpp
std::span<const ServerFlag> server_flags();  // server_flags.cpp
/// Devices on which the API server starts with larger limits (EngineArgs.get_batch_defaults).
bool is_large(std::string_view device, std::int64_t bytes);  // server_command.cpp

}  // namespace kvplan::scheduling::vllm
