// Turns: which requests wait for which, as a graph. An edge from a to b says that b arrives only after a has
// ended: a later turn of a conversation after the one before it, an agent's next call after its sub-agents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

/// The graph by request, in the form that engines walk.
struct Turns {
  std::vector<std::int32_t> waits_for;  ///< by request: for how many others; empty where nobody waits
  std::vector<std::uint32_t> first;     ///< [requests + 1]
  std::vector<std::int32_t> followers;  ///< who waits for request r, ascending: [first[r], first[r + 1])
  std::vector<std::int32_t>
      group;  ///< by request: the least request that waits join it to; itself where none do
  std::int64_t longest_chain{0};  ///< most requests one behind the other

  [[nodiscard]] bool present() const { return !waits_for.empty(); }
  [[nodiscard]] std::span<const std::int32_t> followers_of(std::int32_t request) const {
    const auto r = static_cast<std::size_t>(request);
    return std::span<const std::int32_t>(followers).subspan(first[r], first[r + 1] - first[r]);
  }
};

/// The graph over requests [0, requests); waits with a request beyond are left out, as if that one had never been
/// recorded. Errors: requests that wait for each other in a circle, which are named.
Result<Turns> turns_of(const Waits& waits, std::int64_t requests);

/// The earliest recorded arrival of each group, by the request that names it.
/// REQUIRES: the trace has the graph's requests.
std::vector<std::int64_t> group_starts_ns(const Trace& trace, const Turns& turns);

/// Waits as sessions suggest them, for traces that do not state any: a request waits for those of its session that
/// had ended when it arrived and that nobody waits for yet, so that what ran side by side stays so. Where the file
/// does not say how long answers took, each had ended when the next request of the session arrived. Requests [0,
/// requests); those with waits of their own in `trace.waits` keep exactly these. The result includes them.
Waits session_waits(const Trace& trace, std::int64_t requests);

/// Puts waits into their order in files (see Waits) and drops repetitions.
void sort_waits(Waits& waits);

}  // namespace kvplan::traces
