// The driver `sched` of SGLang once more, over the naive scheduler: its clock and both of its tables, written apart
// from simulator/drivers. Where a step has begun and where it has ended, all pages of the pool are counted.
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
