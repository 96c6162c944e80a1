// Turns: the waits between requests, as a graph. An edge from a to b says that b arrives only after a has ended: a
// later turn of a conversation after the one before it, an agent's next call after its sub-agents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

/// The graph by request, in the form that engines use.
struct Turns {
  /// By request: number of requests that it waits for; empty if no request waits
  std::vector<std::int32_t> waits_for;
  std::vector<std::uint32_t> first;  ///< [requests + 1]
  /// Requests that wait for request r, ascending: [first[r], first[r + 1])
  std::vector<std::int32_t> followers;
  std::vector<std::int32_t>
      /// By request: the least request of its group (connected by waits); itself if it has no waits
      group;
  std::int64_t longest_chain{0};  ///< length of the longest chain of waits, in requests

  [[nodiscard]] bool present() const { return !waits_for.empty(); }
  [[nodiscard]] std::span<const std::int32_t> followers_of(std::int32_t request) const {
    const auto r = static_cast<std::size_t>(request);
    return std::span<const std::int32_t>(followers).subspan(first[r], first[r + 1] - first[r]);
  }
};

/// The graph over requests [0, requests). Waits with a request beyond are left out, as if that request had never been
/// recorded. Errors: a cycle of waits, with the requests in it.
Result<Turns> turns_of(const Waits& waits, std::int64_t requests);

/// The earliest recorded arrival of each group, stored at the request that names the group. REQUIRES: the trace has
/// the graph's requests.
std::vector<std::int64_t> group_starts_ns(const Trace& trace, const Turns& turns);

/// Waits that follow from sessions, for traces that do not state any: a request waits for those of its session that
/// had ended when it arrived and that no other request waits for yet, so that parallel requests stay parallel. If the
/// file does not say how long answers took, each is assumed to have ended when the next request of the session
/// arrived. Covers requests [0, requests); requests with waits in `trace.waits` keep exactly those. The result
/// includes them.
Waits session_waits(const Trace& trace, std::int64_t requests);

/// Puts waits into their order in files (see Waits) and drops repetitions.
void sort_waits(Waits& waits);

}  // namespace kvplan::traces
