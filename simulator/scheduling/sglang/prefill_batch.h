// A prefill batch while it is formed, and the budgets that end it (managers/schedule_policy.py, PrefillAdder).
//
// An admitted request is charged its tokens and all that it may generate; a running one only a share of what it may
// still generate (new_token_ratio.h). What is evictable counts as free, so locking a prefix makes room less.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/scheduling/sglang/params.h"
#include "simulator/scheduling/sglang/request.h"
#include "simulator/scheduling/sglang/run_to_ends.h"

namespace kvplan::scheduling::sglang {

class PrefillBatch {
 public:
  /// `running` outlives the batch and does not change meanwhile.
  PrefillBatch(const Params& params, prefix::RadixPool& pool, std::span<Request* const> running,
               double ratio);

  /// Goes on with a request in the middle of its prefill; true: even now its end is not reached. If there is no room
  /// for it, it joins without tokens, and will in all steps to come: SGLang's scheduler is stuck.
  bool go_on(Request& request);

  enum class Answer {
    kContinue,  ///< it joined, ask the next
    kNoToken,   ///< the pool is full, whether it joined or not
    kOther,     ///< another limit is reached, whether it joined or not
  };
  /// Asks a request of the queue, which joins if it can: then its `held` is found and locked, and its `fill_tokens`
  /// set. At most one of a batch joins without its end (`cut`), and is its last.
  Answer ask(Request& request);

  [[nodiscard]] const std::vector<Request*>& members() const { return members_; }
  [[nodiscard]] Request* cut() const { return cut_; }
  /// Takes the slots of all members.
  void allocate();

 private:
  /// What counts as free for members, after what is kept for those who run, and before it.
  [[nodiscard]] double remaining_total() const;
  [[nodiscard]] std::int64_t remaining_current() const;
  [[nodiscard]] std::int64_t in_pages(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t clipped(std::int64_t tokens) const;
  [[nodiscard]] Answer answer() const;
  void charge(std::int64_t tokens, std::int64_t new_tokens);
  /// It joins with its tokens up to `fill_tokens`. Whole: to its end, so that it generates next.
  void join(Request& request, std::int64_t fill_tokens, std::int64_t charged_tokens, bool whole);
  void join_cut(Request& request, std::int64_t fill_tokens, std::int64_t tokens);
  Answer ask_by_share(Request& request);
  Answer ask_by_ends(Request& request);

  const Params& params_;
  prefix::RadixPool& pool_;
  std::span<Request* const> running_;
  std::int64_t input_left_;                 // of max_prefill_tokens
  std::optional<std::int64_t> chunk_left_;  // of chunk_tokens
  double kept_total_{0};                    // tokens: of members, and of those who run
  std::int64_t kept_current_{0};            // tokens: what members compute
  RunToEnds ends_;
  std::vector<Request*> members_;
  Request* cut_{nullptr};
};

}  // namespace kvplan::scheduling::sglang
