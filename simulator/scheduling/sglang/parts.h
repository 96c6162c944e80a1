// Parts that this folder's engine.cpp puts together.
#pragma once

#include <span>

#include "simulator/model/pool_rule.h"
#include "simulator/scheduling/engine.h"
#include "simulator/scheduling/server_flags.h"

namespace kvplan::scheduling::sglang {

extern const model::PoolRule kPoolRule;  // pool_rule.cpp
/// Memory of a device as the server asks for it, in MiB.
std::int64_t memory_mib(const model::DeviceShape& device);
/// Most requests for which it captures CUDA graphs.
double graph_requests(const model::DeviceShape& device, std::int64_t tensor_ranks);
/// Sizes by the device's memory.
std::vector<ServerDefault> defaults_on(const model::DeviceShape& device);  // device_defaults.cpp
std::span<const ServerFlag> server_flags();                                // server_flags.cpp

}  // namespace kvplan::scheduling::sglang
