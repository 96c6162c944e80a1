// The steps of an event log from the view of kernels: how many tokens each request reads, and how many it keeps.
//
// Everything is derived from the facts (events) of the log. A request decodes in a step if its prompt is complete, it
// has no chunk in the pass and it is not held back. It reads all its written tokens and the new one. It keeps those of
// them that its facts do not evict; these give one interval (Drop), positions (Course) or a number (Counts), as a mean
// over token groups.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"

namespace kvplan::validator {

struct Reading {
  std::int64_t tokens{0};  ///< tokens to read, the new one included
  double kept{0};          ///< kept tokens of these; a mean over token groups
  std::int64_t sinks{0};   ///< if an interval was evicted: kept tokens before it
};

/// A series of similar steps, for all of which the middle one stands.
struct LoggedStep {
  std::int64_t index{0};  ///< from 0, over all replicas
  std::int32_t replica{0};
  std::int64_t time{0};           ///< when the first step begins, in ticks
  std::int64_t steps{1};          ///< number of steps
  Wide ticks{0};                  ///< duration of all steps
  std::int64_t prompt_tokens{0};  ///< prompt tokens computed in chunks
  std::vector<Reading> decodes;   ///< for each request that decodes

  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] double kept() const;
};

/// Calls `see` for every series of steps, in the order of the log. Errors: those of the reader, and of `see`.
Status each_step(const std::string& log, const std::function<Status(const LoggedStep&)>& see);

}  // namespace kvplan::validator
