// A prefill batch that is being formed, and the budgets that end it (managers/schedule_policy.py, PrefillAdder).
//
// An admitted request is charged its tokens and all that it may generate; a running request only a share of the latter
// (new_token_ratio.h). Evictable tokens count as free, so locking a prefix lowers the free count.
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

  /// Continues a request in the middle of its chunked prefill; returns true if its prompt is still incomplete. If it
  /// has no room, it joins without tokens, in this and all later steps: SGLang's scheduler is stuck.
  bool go_on(Request& request);

  enum class Answer {
    kContinue,  ///< it joined; try the next request
    kNoToken,   ///< the pool is full, whether it joined or not
    kOther,     ///< another limit is reached, whether it joined or not
  };
  /// Tries to add a request of the queue. If it joins, its `held` is then the locked prefix hit, and its `fill_tokens`
  /// are set. At most one request of a batch joins with only a part of its prompt (`cut`), as the last one.
  Answer ask(Request& request);

  [[nodiscard]] const std::vector<Request*>& members() const { return members_; }
  [[nodiscard]] Request* cut() const { return cut_; }
  /// Takes the slots of all members.
  void allocate();

 private:
  /// Tokens that count as free for members: with the reserve for running requests subtracted, and without.
  [[nodiscard]] double remaining_total() const;
  [[nodiscard]] std::int64_t remaining_current() const;
  [[nodiscard]] std::int64_t in_pages(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t clipped(std::int64_t tokens) const;
  [[nodiscard]] Answer answer() const;
  void charge(std::int64_t tokens, std::int64_t new_tokens);
  /// The request joins with its tokens up to `fill_tokens`. `whole`: that is its whole prompt, so it generates next.
  void join(Request& request, std::int64_t fill_tokens, std::int64_t charged_tokens, bool whole);
  void join_cut(Request& request, std::int64_t fill_tokens, std::int64_t tokens);
  Answer ask_by_share(Request& request);
  Answer ask_by_ends(Request& request);

  const Params& params_;
  prefix::RadixPool& pool_;
  std::span<Request* const> running_;
  std::int64_t input_left_;                 // rest of max_prefill_tokens
  std::optional<std::int64_t> chunk_left_;  // rest of chunk_tokens
  double kept_total_{0};                    // tokens reserved for members and running requests
  std::int64_t kept_current_{0};            // tokens that members compute in this batch
  RunToEnds ends_;
  std::vector<Request*> members_;
  Request* cut_{nullptr};
};

}  // namespace kvplan::scheduling::sglang
