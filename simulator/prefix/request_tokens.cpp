#include "simulator/prefix/request_tokens.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::prefix {
namespace {

/// A token of a request that no other request has, by its position. Its number is above all tokens made from ids.
Token own_token(RequestId request, std::int64_t place) {
  return (Token{1} << 63) | (static_cast<Token>(request) << 32) | static_cast<Token>(place);
}

}  // namespace

TokenSequence request_tokens(const core::Workload& workload, RequestId request) {
  const std::size_t i = index(request);
  const std::int64_t named = workload.named_tokens(request);
  const std::int64_t all = std::int64_t{workload.input[i]} + workload.output[i];
  TokenSequence tokens;
  if (workload.prefix != nullptr && workload.prefix->present()) {
    const std::int64_t block = workload.prefix->block_tokens;
    KVPLAN_CHECK(block <= kMostHashBlock, block);
    for (auto at = workload.prefix->offsets[i]; at < workload.prefix->offsets[i + 1]; ++at) {
      const std::int64_t length = std::min(block, named - tokens.size());
      tokens.append({static_cast<Token>(workload.prefix->ids[at]) * static_cast<Token>(block), length});
    }
  }
  tokens.append({own_token(request, tokens.size()), all - tokens.size()});
  return tokens;
}

}  // namespace kvplan::prefix
