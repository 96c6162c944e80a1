// The steps of an event log, as kernels see them: how many tokens each request reads, and how many of these it keeps.
//
// Everything follows from the facts of the log. A request decodes in a step if its prompt is complete, it has no chunk
// in the pass and it is not held back. It reads all tokens that it has written and the new one. Of these it keeps
// those that its facts do not drop: one interval (Drop), positions (Course) or a number (Counts), as a mean over
// tracks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"

namespace kvplan::validator {

struct Reading {
  std::int64_t tokens{0};  ///< its new one included
  double kept{0};          ///< of these; a mean over tracks
  std::int64_t sinks{0};   ///< with an interval that was dropped: kept tokens before it
};

/// A run of alike steps, of which the one in the middle stands for all.
struct LoggedStep {
  std::int64_t index{0};  ///< from 0, over all replicas
  std::int32_t replica{0};
  std::int64_t time{0};           ///< when the first begins, in ticks
  std::int64_t steps{1};          ///< so many
  Wide ticks{0};                  ///< of all of them
  std::int64_t prompt_tokens{0};  ///< computed in chunks
  std::vector<Reading> decodes;   ///< of the requests that decode

  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] double kept() const;
};

/// Calls `see` for every run of steps, in the order of the log. Errors: those of the reader, and of `see`.
Status each_step(const std::string& log, const std::function<Status(const LoggedStep&)>& see);

}  // namespace kvplan::validator
