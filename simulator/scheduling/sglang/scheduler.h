// SGLang's scheduler (sgl-project/sglang v0.5.5, commit 0c006b8809: python/sglang/srt/managers/scheduler.py,
// event_loop_normal, without overlap), step by step.
//
// A step either prefills or decodes; prefill goes first. Life of a request: join -> waiting -> one prefill batch, or
// several if chunked -> running, one token per step -> ended, or retracted to the end of the queue.
//
//   scheduler.join(...); begin_step(); ...; end_step(); and so on
// begin_step decides and takes memory; end_step gives every request of the batch its token and frees the memory of
// ended requests. The caller keeps the time.
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
  std::int64_t tokens{0};      ///< tokens computed in this step; 1 if it decodes
  bool admitted{false};        ///< it was admitted from the queue
  std::int64_t hit_tokens{0};  ///< tokens of its prefix hit, if it was admitted
};

/// What a step does. Valid until the next step begins.
struct Decision {
  StepKind kind{StepKind::kIdle};
  std::vector<Share> batch;          ///< in SGLang's order
  std::vector<RequestId> retracted;  ///< retracted before the others decode, in queue order
  bool refused{false};               ///< memory was too short for a request of the queue, or for decoding
};

/// The result of a step for one request.
struct Outcome {
  RequestId request{0};
  bool ended{false};      ///< this was its last token
  bool first{false};      ///< this was its first token, not counting retractions
  bool prefilled{false};  ///< its prefill ended with this step
};

class Scheduler {
 public:
  /// REQUIRES: max_running, decay_steps >= 1; chunks of at least a page. The pool outlives the scheduler; only the
  /// scheduler changes it.
  Scheduler(const Params& params, prefix::RadixPool& pool) : params_(params), pool_(pool), ratio_(params) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Appends to the queue. REQUIRES: prompt plus max_new tokens fit into the pool, and each is at least 1.
  void join(Request request);
  const Decision& begin_step();
  /// The requests that got a token, in batch order. Valid until the next step begins. REQUIRES: a step has begun.
  std::span<const Outcome> end_step();

  /// After begin_step: the number of steps in a row, this one included, that are alike as long as no request joins. In
  /// alike steps the same requests decode, the queue is not looked at, nothing is evicted, and no request ends before
  /// the last of the steps. At least 1; the steps after the first take at most `most_pages` pages.
  [[nodiscard]] std::int64_t alike_steps(std::int64_t most_pages) const;
  /// Same as calling end_step and begin_step `steps` - 1 times; afterwards the last of these steps has begun. REQUIRES:
  /// 1 <= steps <= alike_steps().
  void decode_on(std::int64_t steps);

  /// The following are valid between begin_step and end_step, and after it.
  [[nodiscard]] const std::deque<Request*>& waiting() const { return waiting_; }
  /// Counts changes of the queue other than appends.
  [[nodiscard]] std::int64_t queue_changes() const { return queue_changes_; }
  /// Running requests, including those that ended in the latest decode step.
  [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  /// The request in the middle of its chunked prefill, or null.
  [[nodiscard]] const Request* chunked() const { return chunked_; }
  /// No request is admitted until one ends or is retracted (batch_is_full).
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
  std::deque<Request> requests_;  // all requests that ever joined; addresses stay valid
  std::deque<Request*> waiting_;
  std::int64_t queue_changes_{0};
  std::vector<Request*> running_;
  bool full_{false};
  Request* chunked_{nullptr};
  std::vector<Request*> batch_;  // members of the latest step, if it was a prefill
  Decision decision_;
  std::vector<Outcome> outcomes_;
};

}  // namespace kvplan::scheduling::sglang
