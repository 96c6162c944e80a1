// The digest of a trace: 16 hex digits over its columns. It is the same whether the trace comes from its original file
// or from a .kvt made of it. traces/FORMAT.md has the definition for other programs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "traces/record/trace.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

/// This many states existed in the first version; they are mixed in whatever their values are.
inline constexpr std::size_t kFirstLanes = 15;

/// Mixes the states of the columns into `state`, in order. A state after the first fifteen that is 0 is left out; any
/// other state is mixed in together with its number. So a column that is added later does not change the digest of a
/// trace without it, and files keep their digests.
std::uint64_t mix_lanes(std::uint64_t state, std::span<const std::uint64_t> lanes);

/// Add the pieces of a trace in order, then `finish`. The division into pieces does not matter. Values that are not
/// stated (empty columns, or -1) add nothing, so an absent column equals one without any value.
class TraceDigest {
 public:
  void add(const Trace& piece);
  [[nodiscard]] std::string finish(const StreamSummary& summary) const;

 private:
  /// Ids are added to four states in turn, so that a processor can work on four at once. New columns are appended at
  /// the end, so no lane ever moves.
  enum Lane : std::size_t {
    kArrival,
    kInput,
    kOutput,
    kCount,
    kId0,
    kId1,
    kId2,
    kId3,
    kSession,
    kTenant,
    kMaxTokens,
    kTtft,
    kE2e,
    kSessionName,
    kTenantName,
    kThink,
    kWaits,
    kPriority,
    kLanes  ///< number of lanes
  };
  static constexpr std::size_t kIdLanes = 4;

  template <class T>
  void stated(Lane lane, const std::vector<T>& column);
  void ids(const std::vector<std::uint32_t>& column);
  void waits(const Waits& waits);
  void names(Lane lane, const std::vector<std::string>& values);

  std::array<std::uint64_t, kLanes> state_{};
  std::uint64_t requests_{0};
  std::uint64_t references_{0};
};

}  // namespace kvplan::traces
