// The tokens of a workload's requests. A trace has no texts: a token is named by the id of the prefix block that covers
// it and its position in that block, so equal prefixes have equal tokens. Every other token (of a prompt or its end
// without ids, of an answer that the workload does not name) differs from all others.
#pragma once

#include "simulator/core/workload.h"
#include "simulator/prefix/tokens.h"

namespace kvplan::prefix {

/// Largest block by which a trace may name its prompts: longer ones would give two tokens the same number.
inline constexpr std::int64_t kMostHashBlock = std::int64_t{1} << 31;

/// Prompt and output of a request, L + O tokens. REQUIRES: no ids, or blocks of at most kMostHashBlock tokens.
TokenSequence request_tokens(const core::Workload& workload, RequestId request);

}  // namespace kvplan::prefix
