#include "simulator/workload/answers.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>

#include "simulator/base/check.h"

namespace kvplan::workload {
namespace {

constexpr Descriptor kAuto{
    .family = "answers",
    .name = "auto",
    .summary =
        "Like session for a prompt that is at least as long as the previous prompt and its answer together, "
        "if "
        "its prefix ids begin with those of the previous prompt and continue with new ids; like unknown for "
        "all other prompts.",
    .source =
        "kvplan; hits on generated blocks as in vllm-project/vllm v0.15.1 (vllm/v1/core/block_pool.py) and "
        "sgl-project/sglang v0.5.5 (python/sglang/srt/mem_cache/radix_cache.py, cache_finished_req)",
    .params = {}};

constexpr Descriptor kSession{
    .family = "answers",
    .name = "session",
    .summary =
        "The next prompt of a session begins with the previous prompt and its answer, as far as it is long "
        "enough; the prefix cache finds the blocks of the answer.",
    .source = "kvplan",
    .params = {}};

constexpr Descriptor kUnknown{
    .family = "answers",
    .name = "unknown",
    .summary = "No prompt contains an earlier answer: no other request hits a block with a generated token.",
    .source = "kvplan",
    .params = {}};

constexpr std::int32_t kNone = -1;

/// The turns before requests, where an answer is held.
struct Held {
  std::vector<std::int32_t> before;    ///< by request; kNone: its prompt holds no answer
  std::vector<std::int32_t> follower;  ///< by request: the first with a prompt that holds its answer; kNone
  std::vector<std::int32_t> tokens;    ///< by request: tokens of prompt and answer that this prompt holds
};

class TurnsBefore {
 public:
  TurnsBefore(const traces::Trace& trace, AnswerRule rule, const core::Workload& workload)
      : trace_(trace), ids_(trace.prefix), rule_(rule), w_(workload), count_(workload.input.size()) {
    if (!ids_.present()) return;
    first_seen_.assign(static_cast<std::size_t>(ids_.distinct), kNone);
    ends_.assign(static_cast<std::size_t>(ids_.distinct), false);
  }

  Held find(AnswerCounts& counts) {
    Held held{std::vector<std::int32_t>(count_, kNone), std::vector<std::int32_t>(count_, kNone),
              std::vector<std::int32_t>(count_, 0)};
    counts.requests = static_cast<std::int64_t>(count_);
    for (std::size_t n = 0; n < count_; ++n) {
      see(n);
      gather_waits(n);
      const std::int32_t session = session_of(n);
      const bool later = !waits_.empty() || (session >= 0 && latest_.contains(session));
      counts.later_turns += later ? 1 : 0;
      const std::int32_t p = !later ? kNone : ids_.present() ? by_ids(n) : latest(n);
      const std::int64_t tokens = p == kNone ? 0 : tokens_held(static_cast<std::size_t>(p), n);
      if (tokens > 0) {
        ++counts.held;
        held.before[n] = p;
        std::int32_t& follower = held.follower[static_cast<std::size_t>(p)];
        if (follower == kNone) {
          follower = static_cast<std::int32_t>(n);
          held.tokens[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(tokens);
        }
      }
      if (w_.input[n] > 0 && w_.output[n] > 0) remember(n);
    }
    return held;
  }

  /// Leading ids that stand for whole blocks of the prompt.
  [[nodiscard]] std::size_t whole_ids(std::size_t r) const {
    return std::min(static_cast<std::size_t>(w_.input[r] / ids_.block_tokens), listed(r));
  }

 private:
  [[nodiscard]] std::size_t listed(std::size_t r) const { return ids_.offsets[r + 1] - ids_.offsets[r]; }
  [[nodiscard]] std::uint32_t id(std::size_t r, std::size_t place) const {
    return ids_.ids[ids_.offsets[r] + place];
  }
  [[nodiscard]] std::int32_t session_of(std::size_t r) const {
    return w_.session.empty() ? kNone : w_.session[r];
  }
  static std::uint64_t key(std::int32_t session, std::uint32_t id) {
    return static_cast<std::uint64_t>(session) << 32 | id;
  }

  /// Notes which ids the request is the first to have.
  void see(std::size_t n) {
    if (!ids_.present()) return;
    for (std::size_t place = 0; place < listed(n); ++place) {
      std::int32_t& first = first_seen_[id(n, place)];
      if (first == kNone) first = static_cast<std::int32_t>(n);
    }
  }
  /// The earlier requests that it waits for. Waits are ordered by the later of the two.
  void gather_waits(std::size_t n) {
    waits_.clear();
    const traces::Waits& all = trace_.waits;
    for (; wait_ < all.size() && static_cast<std::size_t>(all.later(wait_)) <= n; ++wait_) {
      const std::int32_t before = all.before[wait_];
      if (static_cast<std::size_t>(all.request[wait_]) == n && before < all.request[wait_])
        waits_.push_back(before);
    }
  }
  void remember(std::size_t n) {
    const std::int32_t session = session_of(n);
    if (session < 0) return;
    latest_[session] = static_cast<std::int32_t>(n);
    if (!ids_.present()) return;
    const std::size_t whole = whole_ids(n);
    if (whole == 0) {
      shorter_than_id_[session] = static_cast<std::int32_t>(n);
      return;
    }
    ends_[id(n, whole - 1)] = true;
    ended_by_[key(session, id(n, whole - 1))] = static_cast<std::int32_t>(n);
  }

  /// The latest earlier request, of those with tokens.
  [[nodiscard]] std::int32_t latest(std::size_t n) const {
    std::int32_t p = kNone;
    if (const auto found = latest_.find(session_of(n)); found != latest_.end()) p = found->second;
    for (const std::int32_t before : waits_)
      if (has_tokens(before)) p = std::max(p, before);
    return p;
  }
  [[nodiscard]] bool has_tokens(std::int32_t r) const {
    return w_.input[static_cast<std::size_t>(r)] > 0 && w_.output[static_cast<std::size_t>(r)] > 0;
  }

  /// The one with the most whole ids, all of which the request begins with; the latest of these.
  [[nodiscard]] std::int32_t by_ids(std::size_t n) const {
    std::int32_t p = in_session(n);
    for (const std::int32_t before : waits_) {
      if (!has_tokens(before)) continue;
      const auto b = static_cast<std::size_t>(before);
      const std::size_t whole = whole_ids(b);
      if (whole > whole_ids(n) || (whole > 0 && id(b, whole - 1) != id(n, whole - 1))) continue;
      const std::size_t most = p == kNone ? 0 : whole_ids(static_cast<std::size_t>(p));
      if (p == kNone || whole > most || (whole == most && before > p)) p = before;
    }
    return p;
  }
  [[nodiscard]] std::int32_t in_session(std::size_t n) const {
    const std::int32_t session = session_of(n);
    if (session < 0 || !latest_.contains(session)) return kNone;
    for (std::size_t whole = whole_ids(n); whole > 0; --whole) {
      const std::uint32_t last = id(n, whole - 1);
      if (!ends_[last]) continue;
      const auto found = ended_by_.find(key(session, last));
      if (found != ended_by_.end() && whole_ids(static_cast<std::size_t>(found->second)) == whole)
        return found->second;
    }
    const auto found = shorter_than_id_.find(session);
    return found == shorter_than_id_.end() ? kNone : found->second;
  }

  /// Tokens of prompt and answer of `p` that the prompt of `n` holds; 0: none of the answer.
  [[nodiscard]] std::int64_t tokens_held(std::size_t p, std::size_t n) const {
    const std::int64_t both = std::int64_t{w_.input[p]} + w_.output[p];
    if (rule_ == AnswerRule::kSession) {
      const std::int64_t tokens = std::min<std::int64_t>(both, w_.input[n]);
      return tokens > w_.input[p] ? tokens : 0;
    }
    if (!ids_.present() || w_.input[n] < both) return 0;
    const auto begin = static_cast<std::size_t>(w_.input[p] / ids_.block_tokens);
    const bool is_new = begin >= listed(n) || first_seen_[id(n, begin)] > static_cast<std::int32_t>(p);
    return is_new ? both : 0;
  }

  const traces::Trace& trace_;
  const traces::PrefixHashes& ids_;
  AnswerRule rule_;
  const core::Workload& w_;
  std::size_t count_;
  std::vector<std::int32_t> first_seen_;  // by id: the first request with it
  std::vector<bool> ends_;                // by id: it is the last whole one of some request of a session
  // Requests with tokens, by session, each the latest:
  std::unordered_map<std::int32_t, std::int32_t> latest_;
  std::unordered_map<std::int32_t, std::int32_t> shorter_than_id_;
  std::unordered_map<std::uint64_t, std::int32_t> ended_by_;  // by session and last whole id
  std::size_t wait_{0};
  std::vector<std::int32_t> waits_;
};

/// The ids of a trace, with those of answers. An answer gets the ids of the prompt that holds it, from the id in which
/// the prompt before it ends. Where a prompt lacks an id for the end of the answer that it holds, it gets a new one.
traces::PrefixHashes with_answers(const TurnsBefore& turns, const Held& held,
                                  const traces::PrefixHashes& ids) {
  const std::size_t count = held.before.size();
  const auto needed = [&](std::size_t r) {  // ids for what its first follower holds of it
    return static_cast<std::uint64_t>(ceil_div(std::int64_t{held.tokens[r]}, ids.block_tokens));
  };
  traces::PrefixHashes out{.block_tokens = ids.block_tokens,
                           .offsets = {0},
                           .ids = {},
                           .distinct = ids.distinct,
                           .last_may_be_partial = ids.last_may_be_partial};
  out.offsets.reserve(count + 1);
  for (std::size_t r = 0; r < count; ++r) {
    std::uint64_t length = ids.offsets[r + 1] - ids.offsets[r];
    if (held.follower[r] != kNone) length = needed(r);
    if (held.before[r] != kNone) {
      const auto p = static_cast<std::size_t>(held.before[r]);
      if (held.follower[p] == static_cast<std::int32_t>(r)) length = std::max(length, needed(p));
    }
    out.offsets.push_back(out.offsets.back() + length);
  }
  out.ids.resize(out.offsets.back());
  // A part-filled id stands for a whole prompt. If the answer behind that goes on with another id, every request with
  // this prompt has that one instead.
  std::unordered_map<std::uint32_t, std::uint32_t> filled;
  for (std::size_t r = count; r-- > 0;) {  // a follower comes later
    const std::uint64_t length = out.offsets[r + 1] - out.offsets[r];
    const std::uint64_t own =
        held.follower[r] == kNone ? ids.offsets[r + 1] - ids.offsets[r] : turns.whole_ids(r);
    std::copy_n(ids.ids.begin() + static_cast<std::ptrdiff_t>(ids.offsets[r]), std::min(own, length),
                out.ids.begin() + static_cast<std::ptrdiff_t>(out.offsets[r]));
    for (std::uint64_t place = own; place < length; ++place) {
      std::uint32_t& id = out.ids[out.offsets[r] + place];
      if (held.follower[r] != kNone) {
        id = out.ids[out.offsets[static_cast<std::size_t>(held.follower[r])] + place];
        if (place > own || ids.offsets[r] + own == ids.offsets[r + 1]) continue;
        const std::uint32_t partial = ids.ids[ids.offsets[r] + own];
        if (partial < id) filled[partial] = id;  // it always is, where ids chain
      } else {
        id = static_cast<std::uint32_t>(out.distinct++);
      }
    }
  }
  for (std::uint32_t& id : out.ids)
    for (auto found = filled.find(id); found != filled.end(); found = filled.find(id)) id = found->second;
  return out;
}

/// Ids for a trace that has none. A prompt begins with the ids of prompt and answer that it holds, as far as they are
/// whole; the first such prompt goes on with the id in which they end, too.
traces::PrefixHashes made_ids(const Held& held, const core::Workload& workload, std::int64_t block_tokens) {
  const std::size_t count = held.before.size();
  traces::PrefixHashes out{
      .block_tokens = block_tokens, .offsets = {0}, .ids = {}, .distinct = 0, .last_may_be_partial = true};
  for (std::size_t r = 0; r < count; ++r) {
    const bool follows = held.before[r] != kNone;
    const bool followed = held.follower[r] != kNone;
    const std::int64_t named = followed ? held.tokens[r] : workload.input[r];
    const std::int64_t length = follows || followed ? ceil_div(named, block_tokens) : 0;
    std::int64_t taken = 0;
    if (follows) {
      const auto p = static_cast<std::size_t>(held.before[r]);
      const bool first = held.follower[p] == static_cast<std::int32_t>(r);
      const std::int64_t tokens = held.tokens[p];
      taken = std::min(first ? ceil_div(tokens, block_tokens) : tokens / block_tokens, length);
      for (std::int64_t place = 0; place < taken; ++place)
        out.ids.push_back(out.ids[out.offsets[p] + static_cast<std::uint64_t>(place)]);
    }
    for (; taken < length; ++taken) out.ids.push_back(static_cast<std::uint32_t>(out.distinct++));
    out.offsets.push_back(out.ids.size());
  }
  return out;
}

std::string share_of(std::int64_t part, std::int64_t whole) {
  const std::int64_t tenths = (part * 1000 + whole / 2) / whole;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

}  // namespace

Catalogue answer_descriptors() {
  static constexpr std::array kAll{&kAuto, &kSession, &kUnknown};
  return kAll;
}

AnswerRule answer_rule(const Choice& answers) {
  if (answers.name() == kSession.name) return AnswerRule::kSession;
  return answers.name() == kUnknown.name ? AnswerRule::kUnknown : AnswerRule::kAuto;
}

Result<AnswerCounts> name_answers(const traces::Trace& trace, AnswerRule rule, std::int64_t block_tokens,
                                  core::Workload& workload) {
  AnswerCounts counts;
  const bool says_turns = !workload.session.empty() || !trace.waits.empty();
  if (rule == AnswerRule::kUnknown || !says_turns) return counts;
  TurnsBefore turns(trace, rule, workload);
  const Held held = turns.find(counts);
  if (counts.held == 0) return counts;
  const bool ids = trace.prefix.present();
  const std::int64_t most = ids ? trace.prefix.distinct + workload.size() : [&] {
    std::int64_t all = 0;
    for (const std::int32_t input : workload.input) all += ceil_div(std::int64_t{input}, block_tokens);
    for (const std::int32_t tokens : held.tokens) all += ceil_div(std::int64_t{tokens}, block_tokens);
    return all;
  }();
  if (most > std::int64_t{UINT32_MAX})
    return bad_input(
               "expected answers with at most 2^32 ids of prefixes (workload.answers=unknown needs none)")
        .at_field("workload.answers");
  workload.own_prefix = std::make_shared<const traces::PrefixHashes>(
      ids ? with_answers(turns, held, trace.prefix) : made_ids(held, workload, block_tokens));
  workload.prefix = workload.own_prefix.get();
  workload.named = workload.input;
  for (std::size_t r = 0; r < workload.named.size(); ++r)
    if (held.follower[r] != kNone) workload.named[r] = held.tokens[r];
  return counts;
}

std::vector<std::string> describe(const AnswerCounts& counts, AnswerRule rule, bool ids) {
  if (counts.later_turns == 0) return {};
  std::string out =
      std::to_string(counts.held) + " of " + std::to_string(counts.later_turns) +
      " prompts of later turns (" + share_of(counts.held, counts.later_turns) + "; " +
      share_of(counts.held, counts.requests) +
      " of all prompts) hold the answer before them, and the prefix cache finds it (workload.answers=" +
      (rule == AnswerRule::kSession ? "session" : "auto") + ").";
  if (!ids && rule == AnswerRule::kAuto)
    out += " The trace has no ids of prefixes that could show it; workload.answers=session assumes it.";
  return {std::move(out)};
}

}  // namespace kvplan::workload
