// SGLang's scheduler once more, from the words of its definition: every token is a number of its own in a vector, lists
// are copied and sorted as the words say, pages are counted one by one. Slow, and shares nothing with
// simulator/scheduling/sglang and simulator/prefix.
#pragma once

#include <string>

#include "simulator/drivers/cache_options.h"
#include "traces/record/trace.h"

namespace kvplan::test {

struct NaiveSglangTables {
  bool stuck{false};  ///< nothing will ever happen again: then the tables end somewhere
  std::string requests, steps;
};

/// Both tables of `sched`, as texts.
NaiveSglangTables naive_sglang(const traces::Trace& trace, const drivers::CacheOptions& options);

}  // namespace kvplan::test
