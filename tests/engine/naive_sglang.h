// A second implementation of SGLang's `sched` replay, over the naive scheduler: its clock and both tables, without code
// of the replay itself. All pages of the pool are counted at the beginning and end of every step.
#pragma once

#include <string>

#include "simulator/scheduling/replay/cache_options.h"
#include "traces/record/trace.h"

namespace kvplan::test {

struct NaiveSglangTables {
  bool stuck{false};  ///< true: no further event can happen, so the tables end here
  std::string requests, steps;
};

/// Both tables of `sched`, as text.
NaiveSglangTables naive_sglang(const traces::Trace& trace, const replays::CacheOptions& options);

}  // namespace kvplan::test
