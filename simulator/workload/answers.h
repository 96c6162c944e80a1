// The answers family: whether the next prompt of a session holds the answer before it. Where it does, the answer's
// tokens get the ids that this prompt has there, so that the prefix cache finds the blocks which the answer filled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/core/workload.h"
#include "traces/record/trace.h"

namespace kvplan::workload {

enum class AnswerRule : std::uint8_t {
  kAuto,     ///< where the ids of the trace show that it can
  kUnknown,  ///< no answer is in a prompt
  kSession,  ///< the next prompt begins with prompt and answer, or with as much of both as it has tokens
};

Catalogue answer_descriptors();
/// REQUIRES: the choice is of family "answers".
AnswerRule answer_rule(const Choice& answers);

struct AnswerCounts {
  std::int64_t requests{0};
  std::int64_t later_turns{
      0};                ///< requests with an earlier one in their session, or that wait for an earlier one
  std::int64_t held{0};  ///< of these: prompts that hold the answer of an earlier request
};

/// Gives ids to answers (`named` and `prefix` of the workload), by the rule. docs/semantics.md has it exactly.
///
/// The turn before a request is an earlier one (by position in the trace) of its session, or one that it waits for: the
/// one with the longest prompt in whole ids that are the first ids of the request, among equals the latest. Its answer
/// is held
///   auto     if the prompt is at least as long as prompt and answer of that turn, and its id where the answer begins
///            is new: no request up to that turn has it;
///   session  if the prompt is longer than that of the turn before. Without ids the turn before is the latest one.
///
/// An answer that several prompts hold gets the ids of the first of them. A trace without ids gets ids, of
/// `block_tokens` tokens each, for requests that hold an answer, or have one that is held.
///
/// The workload was built from the trace's first requests (workload_builder.h). Errors: more than 2^32 ids.
Result<AnswerCounts> name_answers(const traces::Trace& trace, AnswerRule rule, std::int64_t block_tokens,
                                  core::Workload& workload);

/// Whole sentences for a report; empty if the trace has no later turns. `ids`: the trace has ids.
std::vector<std::string> describe(const AnswerCounts& counts, AnswerRule rule, bool ids);

}  // namespace kvplan::workload
