// SGLang's scheduler (sgl-project/sglang v0.5.5, commit 0c006b8809: python/sglang/srt/managers/scheduler.py,
// event_loop_normal, without overlap), step by step.
//
// A step either prefills or decodes, prefilling first. Life of a request: join -> waiting -> prefill batches, one or,
// in chunks, several -> running, a token a step -> ended, or retracted and at the end of the queue again.
//
//   scheduler.join(...); begin_step(); ...; end_step(); and so on
// begin_step decides and takes memory; end_step hands every request of the batch its token and frees who has ended.
// Time is the caller's.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "simulator/scheduling/sglang/new_token_ratio.h"
#include "simulator/scheduling/sglang/params.h"
#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

enum class StepKind { kPrefill, kDecode, kIdle };

/// What a step does with one request.
struct Share {
  RequestId request{0};
  std::int64_t tokens{0};      ///< computed in this step; 1 if it decodes
  bool admitted{false};        ///< it comes from the queue
  std::int64_t hit_tokens{0};  ///< found cached then
};

/// What a step does. Good until the next one begins.
struct Decision {
  StepKind kind{StepKind::kIdle};
  std::vector<Share> batch;          ///< in SGLang's order
  std::vector<RequestId> retracted;  ///< before the others decode, in the order of the queue
  bool refused{false};               ///< memory was too short: for whoever was asked to join, or to decode
};

/// What a step ended with for one request.
struct Outcome {
  RequestId request{0};
  bool ended{false};      ///< this was its last token
  bool first{false};      ///< this was its first, retracted or not
  bool prefilled{false};  ///< its prefill ended with this step
};

class Scheduler {
 public:
  /// REQUIRES: max_running, decay_steps >= 1; chunks of at least a page. The pool outlives the scheduler, which alone
  /// changes it.
  Scheduler(const Params& params, prefix::RadixPool& pool) : params_(params), pool_(pool), ratio_(params) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Joins the end of the queue. REQUIRES: prompt and max_new tokens fit into the pool, and at least a token of each.
  void join(Request request);
  const Decision& begin_step();
  /// Those who got a token, in the order of the batch. Good until the next step begins. REQUIRES: a step has begun.
  std::span<const Outcome> end_step();

  /// After begin_step: so many steps in a row, the one that has begun included, are alike as long as nobody joins: the
  /// same requests decode, nobody else is asked, nothing is evicted, and nobody ends before the last of them. At least
  /// 1; at most `most_pages` pages are taken after the first.
  [[nodiscard]] std::int64_t alike_steps(std::int64_t most_pages) const;
  /// As if end_step and begin_step had been called `steps` - 1 times: the last of such steps has begun. REQUIRES:
  /// 1 <= steps <= alike_steps().
  void decode_on(std::int64_t steps);

  /// What they are between begin_step and end_step, and after it.
  [[nodiscard]] const std::deque<Request*>& waiting() const { return waiting_; }
  /// How often the queue changed otherwise than at its end.
  [[nodiscard]] std::int64_t queue_changes() const { return queue_changes_; }
  /// Running requests, those that ended in the latest decode step included.
  [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  /// In the middle of its prefill, or null.
  [[nodiscard]] const Request* chunked() const { return chunked_; }
  /// Nobody is admitted until a request ends or is retracted (batch_is_full).
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] double new_token_ratio() const { return ratio_.value(); }

 private:
  void take_over_prefill();
  bool form_prefill();
  void decode();
  void retract_some();

  Params params_;
  prefix::RadixPool& pool_;
  NewTokenRatio ratio_;
  std::deque<Request> requests_;  // all that ever joined, where they stay
  std::deque<Request*> waiting_;
  std::int64_t queue_changes_{0};
  std::vector<Request*> running_;
  bool full_{false};
  Request* chunked_{nullptr};
  std::vector<Request*> batch_;  // of the latest step, if it was a prefill
  Decision decision_;
  std::vector<Outcome> outcomes_;
};

}  // namespace kvplan::scheduling::sglang
