// Answers that later prompts hold, for tests of engines: all requests as turns of one session.
#pragma once

#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/workload/answers.h"

namespace kvplan::test {

/// The workload has the ids of `prefix`, and the answers get some.
inline void hold_answers(const traces::PrefixHashes& prefix, core::Workload& workload) {
  traces::Trace trace;
  trace.prefix = prefix;
  const std::vector<std::int32_t> one(workload.input.size(), 0);
  const auto sessions = std::exchange(workload.session, one);
  const auto counts = workload::name_answers(trace, workload::AnswerRule::kSession, 16, workload);
  KVPLAN_CHECK(counts.ok());
  workload.session = sessions;
}

}  // namespace kvplan::test
