// What replicas serve: requests with arrival times in ticks and the content of their prompts. Made once from a
// trace (workload/), then only read, by any number of simulations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "traces/record/trace.h"
#include "traces/record/turns.h"

namespace kvplan::core {

/// Requests, indexed by RequestId (position in the trace). Lengths may be 0: the
/// engine rejects such requests on arrival.
struct Workload {
  /// Ticks since the first arrival of the trace. A request that waits for others arrives no earlier than this.
  std::vector<SimTime> arrival;
  std::vector<std::int32_t> input;   ///< prompt tokens L
  std::vector<std::int32_t> output;  ///< output tokens O; the last one is never written to the cache
  /// All requests, ordered by (arrival, position); with `clients` by the arrival that the trace states.
  std::vector<RequestId> order;
  /// Closed loops: a request that waits for others arrives when all of them have ended (finished, or rejected
  /// on arrival) and `think` has passed since, and not before its own `arrival`.
  traces::Turns turns;
  std::vector<Ticks> think;  ///< by request, >= 0; empty where no request waits for others
  /// Closed loops of clients that share one list of requests, in the order of `order`: each client sends the next
  /// request of the list `client_think` after its last one has ended. 0: requests arrive at their own times, or as
  /// `turns` say. REQUIRES: 0 where `turns` are present; else every `arrival` is 0.
  std::int64_t clients{0};
  Ticks client_think{0};
  // Columns of the trace, by request; empty where the trace has none, -1 where a request has no entry.
  std::span<const std::int32_t> session{};
  std::span<const std::int32_t> tenant{};
  std::span<const std::int32_t> max_tokens{};   ///< output tokens that the client allows
  std::span<const std::int32_t> priority{};     ///< the lower the earlier
  const traces::PrefixHashes* prefix{nullptr};  ///< null, or without hashes: every prompt token is unique
  /// By request: its leading tokens that have ids in `prefix`, where some answers have ids too (workload/answers.h);
  /// empty: no answer has any
  std::vector<std::int32_t> named;
  std::shared_ptr<const traces::PrefixHashes> own_prefix;  ///< `prefix`, where it is not the trace's

  /// True: some requests arrive when others have ended.
  [[nodiscard]] bool has_closed_loops() const { return turns.present() || clients > 0; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(input.size()); }
  /// Session of the request; -1: none.
  [[nodiscard]] std::int32_t session_of(RequestId r) const {
    return session.empty() ? -1 : session[index(r)];
  }
  /// Priority of the request; 0 where none is stated, as in vLLM's API.
  [[nodiscard]] std::int32_t priority_of(RequestId r) const {
    return priority.empty() ? 0 : std::max(priority[index(r)], 0);
  }
  /// True: blocks that fill while a request decodes can be hit by others.
  [[nodiscard]] bool names_answers() const { return prefix != nullptr && !named.empty(); }
  /// Leading tokens of the request that can have ids: its prompt, or more (`named`).
  [[nodiscard]] std::int64_t named_tokens(RequestId r) const {
    return named.empty() ? input[index(r)] : named[index(r)];
  }
  /// Tokens in the cache when the request ends: L + O - 1.
  [[nodiscard]] std::int64_t final_tokens(RequestId r) const {
    const std::size_t i = index(r);
    return static_cast<std::int64_t>(input[i]) + output[i] - 1;
  }
};

/// Names of block contents. A block of tokens that all have ids is named by the id of its last token and that token's
/// position under the id; so equal names mean equal contents and equal prefixes. Every other block (of a trace without
/// hashes, or with a token of an answer that has no id) is unique to its request and position.
class ContentNames {
 public:
  /// REQUIRES: no hashes, or `block_tokens` divides the hash block or is longer.
  ContentNames(const Workload& workload, std::int64_t block_tokens);

  /// Number of shared names; they are dense: [0, count).
  [[nodiscard]] std::int64_t shared_count() const { return shared_count_; }
  /// Leading blocks of the request that have shared names.
  [[nodiscard]] std::int64_t shared_blocks(RequestId r) const {
    if (prefix_ == nullptr) return 0;
    const std::size_t i = index(r);
    const auto ids = static_cast<std::int64_t>(prefix_->offsets[i + 1] - prefix_->offsets[i]);
    const std::int64_t whole = workload_.named_tokens(r) / block_tokens_;
    const std::int64_t covered = coarse_ ? ids * prefix_->block_tokens / block_tokens_ : ids * row_;
    return whole < covered ? whole : covered;
  }
  /// Shared name of logical block `block`. REQUIRES: block < shared_blocks(r).
  [[nodiscard]] std::int64_t shared_name(RequestId r, std::int64_t block) const {
    return first_name(r, block / row_) + block % row_;
  }
  /// Names come in rows of this length: the blocks under one hash id; 1 where a block is longer than that.
  [[nodiscard]] std::int64_t row_length() const { return row_; }
  /// The first name of row `row` of a request; the others of the row follow it. REQUIRES: the row exists.
  [[nodiscard]] std::int64_t first_name(RequestId r, std::int64_t row) const {
    const std::uint64_t first = prefix_->offsets[index(r)];
    if (coarse_) return coarse_name(first, row);
    return static_cast<std::int64_t>(prefix_->ids[first + static_cast<std::uint64_t>(row)]) * row_;
  }

 private:
  /// Name of a block that is longer than those of the ids; `first`: where the ids of its request begin.
  [[nodiscard]] std::int64_t coarse_name(std::uint64_t first, std::int64_t block) const;

  const Workload& workload_;
  const traces::PrefixHashes* prefix_{nullptr};
  std::int64_t block_tokens_;
  std::int64_t row_{1};
  bool coarse_{false};             // a block is longer than a hash block
  std::int64_t ends_per_id_{1};    // where it is: positions under an id at which blocks can end,
  std::int64_t tokens_to_end_{1};  // and their distance
  std::int64_t shared_count_{0};
};

}  // namespace kvplan::core
