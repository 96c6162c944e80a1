// Parts that this folder's engine.cpp puts together.
#pragma once

#include <span>

#include "simulator/model/pool_rule.h"
#include "simulator/scheduling/engine.h"
#include "simulator/scheduling/server_flags.h"

namespace kvplan::scheduling::vllm {

extern const model::PoolRule kPoolRule;      // pool_rule.cpp
std::span<const ServerFlag> server_flags();  // server_flags.cpp

}  // namespace kvplan::scheduling::vllm
