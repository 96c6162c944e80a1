// The `sched` replay of SGLang a second time, over the naive scheduler: its clock and both tables, without code of
// the replay itself. All pages of the pool are counted when a step begins and when it ends.
#pragma once

#include <string>

#include "simulator/scheduling/replay/cache_options.h"
#include "traces/record/trace.h"

namespace kvplan::test {

struct NaiveSglangTables {
  bool stuck{false};  ///< nothing will ever happen again: the tables end here
  std::string requests, steps;
};

/// Both tables of `sched`, as texts.
NaiveSglangTables naive_sglang(const traces::Trace& trace, const replays::CacheOptions& options);

}  // namespace kvplan::test
