// The recordings that drive requests: recording i mod n decides which tokens request i keeps. The recordings are the
// sequences in the files of workload.attention, in order. A recording drives a request only if it is long enough, with
// prompt + output - 1 tokens; rows are never looped, stretched or tiled.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "simulator/attention/trajectory.h"
#include "simulator/core/engine.h"
#include "simulator/retention/placed_policy.h"
#include "simulator/retention/run_recordings.h"

namespace kvplan::runs {

struct DrivingRecordings {
  std::vector<Recorded> recordings{};  ///< empty: no request is driven
  /// The model's shape is used instead of recordings, because the policy uses no attention
  bool unrecorded{false};
  bool other_shape{false};  ///< recordings of another shape stand for the layers and heads of the model

  [[nodiscard]] bool any() const { return !recordings.empty(); }
  /// REQUIRES: any(), for all functions below.
  [[nodiscard]] std::size_t which(RequestId request) const { return index(request) % recordings.size(); }
  /// Is the request's recording long enough?
  [[nodiscard]] bool drives(const core::Workload& workload, RequestId request) const {
    return workload.final_tokens(request) <= recordings[which(request)].tokens;
  }
};

/// Index of a recording, and the number of prompt tokens of a request that it
/// drives.
using DrivenPrompt = std::pair<std::size_t, std::int64_t>;
/// For each such prompt, the final tokens of the longest request with it; empty if nothing is replayed.
using LongestDriven = std::map<DrivenPrompt, std::int64_t>;

/// What is needed to make courses for one replica, besides the retention of the run. The references outlive it.
struct CourseInputs {
  const core::Workload& workload;
  const LongestDriven& longest;
  attention::TrajectoryStore& trajectories;                 ///< shared by replicas of one run, on any threads
  const core::RunControl* control{nullptr};                 ///< may be null
  bool block_ids{false};                                    ///< core::MemoryLayout::block_ids
  std::vector<bool> used{};                                 ///< by recording: true if it has driven a request
  std::map<DrivenPrompt, attention::HeadTable> measured{};  ///< measured scores, by prompt
};

/// The request for which a course is made.
struct CourseAsked {
  RequestId request;
  core::CourseShape shape;
  attention::Grants grants{};  ///< from the policy's budget for this prompt; empty without a budget
};

/// The budgets of the layers for this prompt. Scores are measured once for each prompt of a recording.
Result<attention::Grants> grants_of(const PlacedPolicy& policy, const DrivingRecordings& driving,
                                    RequestId request, std::int64_t prompt, CourseInputs& inputs);

/// The tokens that the policy drops of a driven request. A request to stop takes effect between pieces of a trajectory.
Result<std::shared_ptr<const core::Drops>> recorded_drops(const PlacedPolicy& policy,
                                                          const DrivingRecordings& driving,
                                                          const CourseAsked& asked, CourseInputs& inputs);

/// Checks that the recording of every request that the engine would accept is long enough. The error names the first
/// one that is too short.
Status check_all_driven(const DrivingRecordings& driving, const core::Workload& workload,
                        const core::Memory& memory, std::int64_t most_tokens);

}  // namespace kvplan::runs
