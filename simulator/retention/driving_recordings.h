// The recordings that drive requests: request i is driven by recording i mod n. The recordings are the sequences of
// the files of workload.attention, in order. A recording drives a request only if it is long enough, with prompt +
// output - 1 tokens; rows are never looped, stretched or tiled.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "simulator/attention/trajectory.h"
#include "simulator/core/engine.h"
#include "simulator/retention/placed_policy.h"
#include "simulator/retention/run_recordings.h"

namespace kvplan::plan {

struct DrivingRecordings {
  std::vector<Recorded> recordings{};  ///< empty: no request is driven
  bool unrecorded{false};              ///< they are the model's shape alone: the policy asks for no attention
  bool other_shape{false};             ///< they stand for the layers and heads of the model

  [[nodiscard]] bool any() const { return !recordings.empty(); }
  /// REQUIRES: any(), for all below.
  [[nodiscard]] std::size_t which(RequestId request) const { return index(request) % recordings.size(); }
  /// Is its recording long enough for the request?
  [[nodiscard]] bool drives(const core::Workload& workload, RequestId request) const {
    return workload.final_tokens(request) <= recordings[which(request)].tokens;
  }
};

/// Which recording drives a request, and with what prompt.
using DrivenPrompt = std::pair<std::size_t, std::int64_t>;  ///< recording, tokens of the prompt
/// Of each such prompt the final tokens of the longest request that comes with it; empty where nothing is replayed.
using LongestDriven = std::map<DrivenPrompt, std::int64_t>;

/// What courses of one replica are made from, beside the retention of the run. The references outlive it.
struct CourseInputs {
  const core::Workload& workload;
  const LongestDriven& longest;
  attention::TrajectoryStore& trajectories;                 ///< shared by replicas of one run, on any threads
  const core::RunControl* control{nullptr};                 ///< may be null
  bool block_ids{false};                                    ///< core::MemoryLayout::block_ids
  std::vector<bool> used{};                                 ///< recordings that have driven a request
  std::map<DrivenPrompt, attention::HeadTable> measured{};  ///< scores of prompts
};

/// What a course is made for.
struct CourseAsked {
  RequestId request;
  core::CourseShape shape;
  attention::Grants grants{};  ///< of the policy's budget for this prompt; empty without one
};

/// What a budget gives the layers for this prompt; scores are measured once for each prompt of a recording.
Result<attention::Grants> grants_of(const PlacedPolicy& policy, const DrivingRecordings& driving,
                                    RequestId request, std::int64_t prompt, CourseInputs& inputs);

/// What the policy drops of a request that is driven; a wish to stop is seen between pieces of a trajectory.
Result<std::shared_ptr<const core::Drops>> recorded_drops(const PlacedPolicy& policy,
                                                          const DrivingRecordings& driving,
                                                          const CourseAsked& asked, CourseInputs& inputs);

/// Is the recording of every request that the engine would accept long enough? The error names the first that is not.
Status check_all_driven(const DrivingRecordings& driving, const core::Workload& workload,
                        const core::Memory& memory, std::int64_t most_tokens);

}  // namespace kvplan::plan
