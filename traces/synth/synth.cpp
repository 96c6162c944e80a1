#include "traces/synth/synth.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "simulator/base/units.h"
#include "traces/synth/content.h"
#include "traces/synth/parts.h"
#include "traces/synth/services.h"

namespace kvplan::traces {
namespace {

constexpr std::size_t kMostOpenSessions = std::size_t{1} << 20;
constexpr std::int64_t kMostBlockTokens = std::int64_t{1} << 20;
constexpr std::int64_t kMostIds = std::numeric_limits<std::uint32_t>::max();

Error too_many_ids() {
  return bad_input("more than " + std::to_string(kMostIds) + " distinct prefix ids");
}

/// Rejects in advance what would surely fail: each request has at least the full blocks of its own shortest prompt,
/// minus those that it may share. With a duration the number of requests is unknown.
Status check_ids(const SynthOptions& options, const LengthSource& lengths, const PrefixSource& prefixes) {
  if (options.block_tokens == 0 || options.duration_ns > 0) return Done{};
  const std::int64_t own =
      lengths.least_input() / options.block_tokens - prefixes.most_included() / options.block_tokens;
  if (own > 0 && options.requests > kMostIds / own) return too_many_ids().at_field("--block");
  return Done{};
}

/// A session between two turns, or a request by itself.
struct Session {
  std::int64_t at_ns{0};  ///< of the next turn
  std::int64_t number{0};
  Arrival arrival;
  SharedPrefix shared;
  std::int32_t shared_tokens{0};  ///< as drawn; a prompt that is shorter shares less
  Random random{0};
  std::int64_t turns_made{0};
  std::int64_t latest{0};    ///< request; the next turn waits for it,
  std::int64_t think_ns{0};  ///< and pauses
  std::int64_t history{0};   ///< tokens of the latest prompt and its answer
  BlockRuns own;             ///< blocks behind the shared ones
};

/// Order of a heap with the earliest on top; sessions that began earlier come first.
bool later(const Session& a, const Session& b) {
  return std::pair(a.at_ns, a.number) > std::pair(b.at_ns, b.number);
}

class SynthStream final : public TraceStream {
 public:
  SynthStream(const SynthOptions& options, std::unique_ptr<ArrivalProcess> arrivals,
              std::unique_ptr<LengthSource> lengths, std::unique_ptr<PrefixSource> prefixes,
              std::unique_ptr<TurnSource> turns, StreamSummary summary)
      : options_(options),
        arrivals_(std::move(arrivals)),
        lengths_(std::move(lengths)),
        prefixes_(std::move(prefixes)),
        turns_(std::move(turns)),
        sessions_random_(options.seed, "synth.turns"),
        summary_(std::move(summary)) {}

  Result<bool> next(Trace& piece) override;
  [[nodiscard]] const StreamSummary& summary() const override { return summary_; }

 private:
  Result<bool> next_turn(Session& session);
  Result<bool> start_is_known();
  Session begin_session();
  Result<bool> add_turn(Session& session, Trace& piece);
  Status add_ids(Session& session, std::int64_t prompt, Trace& piece);
  void add_names(const Session& session, Trace& piece);
  std::int32_t tenant_of(const Session& session, std::vector<std::string>& fresh);
  Status finish();

  SynthOptions options_;
  std::unique_ptr<ArrivalProcess> arrivals_;
  std::unique_ptr<LengthSource> lengths_;
  std::unique_ptr<PrefixSource> prefixes_;
  std::unique_ptr<TurnSource> turns_;
  Random sessions_random_;
  StreamSummary summary_;

  std::vector<Session> open_;  ///< a heap, see later()
  Arrival start_;              ///< of the session that begins next
  bool start_known_{false};
  bool arrivals_ended_{false};
  bool ended_{false};
  std::vector<BlockRuns> groups_;
  std::vector<std::int32_t> tenants_;  ///< number by client or group; -1 = no name yet
  std::int32_t tenants_named_{0};
  std::int64_t sessions_begun_{0};
  std::int64_t made_{0};
  std::int64_t part_filled_{0};
  std::int64_t zero_input_{0};
  std::int64_t zero_output_{0};
};

Result<bool> SynthStream::start_is_known() {
  if (start_known_ || arrivals_ended_) return start_known_;
  KVPLAN_TRY(start_known_, arrivals_->next(start_));
  arrivals_ended_ = !start_known_;
  return start_known_;
}

Session SynthStream::begin_session() {
  Session session;
  session.at_ns = start_.at_ns;
  session.number = sessions_begun_++;
  session.arrival = start_;
  session.shared = prefixes_->draw();
  session.shared_tokens = session.shared.tokens;
  session.random = Random(sessions_random_.next());
  start_known_ = false;
  return session;
}

/// Finds the session with the earliest next turn, among open sessions and the one that begins next.
Result<bool> SynthStream::next_turn(Session& session) {
  KVPLAN_TRY(const bool start, start_is_known());
  const bool open = !open_.empty() && (!start || open_.front().at_ns <= start_.at_ns);
  if (!open && !start) return false;
  if (options_.duration_ns > 0 && (open ? open_.front().at_ns : start_.at_ns) >= options_.duration_ns)
    return false;
  if (open) {
    std::pop_heap(open_.begin(), open_.end(), later);
    session = std::move(open_.back());
    open_.pop_back();
  } else {
    session = begin_session();
  }
  return true;
}

Status SynthStream::add_ids(Session& session, std::int64_t prompt, Trace& piece) {
  const std::int64_t block = options_.block_tokens;
  const std::int64_t full = prompt / block;
  const std::int64_t shared = session.shared.group < 0 ? 0 : session.shared.tokens / block;
  if (full > kMaxIdsPerRequest)
    return bad_input("a prompt of " + std::to_string(prompt) + " tokens has more than " +
                     std::to_string(kMaxIdsPerRequest) + " blocks of " + std::to_string(block) + " tokens")
        .at_field("--block");
  const auto grow = [&](BlockRuns& runs, std::int64_t blocks) -> Status {
    const std::int64_t fresh = std::max<std::int64_t>(blocks - runs.known(), 0);
    if (summary_.distinct + fresh > kMostIds) return too_many_ids();
    runs.extend(static_cast<std::uint32_t>(summary_.distinct), fresh);
    summary_.distinct += fresh;
    runs.append_to(piece.prefix.ids, blocks);
    return Done{};
  };
  if (shared > 0) {
    const auto group = static_cast<std::size_t>(session.shared.group);
    if (groups_.size() <= group) groups_.resize(group + 1);
    KVPLAN_TRY_DO(grow(groups_[group], shared));
  }
  KVPLAN_TRY_DO(grow(session.own, full - shared));
  piece.prefix.offsets.push_back(piece.prefix.ids.size());
  if (prompt % block != 0) ++part_filled_;
  return Done{};
}

std::int32_t SynthStream::tenant_of(const Session& session, std::vector<std::string>& fresh) {
  const bool client = session.arrival.client >= 0;
  const std::int32_t owner = client ? session.arrival.client : session.shared.group;
  if (owner < 0) return -1;
  const auto at = static_cast<std::size_t>(owner);
  if (tenants_.size() <= at) tenants_.resize(at + 1, -1);
  if (tenants_[at] < 0) {
    tenants_[at] = tenants_named_++;
    fresh.push_back((client ? "client-" : "group-") + std::to_string(owner));
  }
  return tenants_[at];
}

void SynthStream::add_names(const Session& session, Trace& piece) {
  const std::int32_t tenant = tenant_of(session, piece.tenant_names);
  if (tenant >= 0) piece.tenant.push_back(tenant);
  if (!turns_->has_sessions()) return;
  piece.think_ns.push_back(session.turns_made == 0 ? -1 : session.think_ns);
  if (session.turns_made > 0) {
    piece.waits.request.push_back(static_cast<std::int32_t>(made_));
    piece.waits.before.push_back(static_cast<std::int32_t>(session.latest));
  }
  piece.session.push_back(static_cast<std::int32_t>(session.number));
  if (session.turns_made == 0) piece.session_names.push_back("session-" + std::to_string(session.number));
}

/// Returns false if the session ends instead, because its context would be too long.
Result<bool> SynthStream::add_turn(Session& session, Trace& piece) {
  const RequestLengths drawn = lengths_->draw(session.arrival);
  const bool first = session.turns_made == 0;
  std::int64_t prompt = session.history + drawn.input;
  const bool begins = first || !turns_->remembers();
  if (begins && session.shared.group >= 0 && session.shared.added) prompt += session.shared_tokens;
  // A prompt that consists only of a longer shared beginning continues with its own words.
  if (begins)
    session.shared.tokens = static_cast<std::int32_t>(std::min<std::int64_t>(session.shared_tokens, prompt));
  const std::int64_t with_answer = prompt + drawn.output;
  if (!first && with_answer > turns_->most_tokens()) return false;
  if (prompt > INT32_MAX)
    return bad_input("a prompt of " + std::to_string(prompt) + " tokens is longer than 2147483647");
  if (made_ >= kMostRequestsWithWaits && turns_->has_sessions())
    return bad_input("a trace with waits has at most " + std::to_string(kMostRequestsWithWaits) +
                     " requests");
  if (options_.block_tokens > 0) KVPLAN_TRY_DO(add_ids(session, prompt, piece));
  piece.arrival_ns.push_back(session.at_ns);
  piece.input_tokens.push_back(static_cast<std::int32_t>(prompt));
  piece.output_tokens.push_back(drawn.output);
  add_names(session, piece);
  zero_input_ += prompt == 0 ? 1 : 0;
  zero_output_ += drawn.output == 0 ? 1 : 0;
  session.latest = made_++;
  ++session.turns_made;
  if (turns_->remembers()) {
    session.history = with_answer;
  } else {
    session.own = {};
  }
  const auto next = turns_->next(session.random, session.turns_made, drawn.output);
  if (!next) return true;
  session.think_ns = next->think_ns;
  const Wide at = Wide{session.at_ns} + next->after_ns;
  if (at > INT64_MAX) return too_late();
  if (open_.size() >= kMostOpenSessions)
    return bad_input(
               "more than 1048576 sessions are open at once: expected fewer turns, shorter pauses or a lower "
               "rate")
        .at_field("--turns");
  session.at_ns = static_cast<std::int64_t>(at);
  open_.push_back(std::move(session));
  std::push_heap(open_.begin(), open_.end(), later);
  return true;
}

Status SynthStream::finish() {
  ended_ = true;
  if (options_.requests > 0 && made_ < options_.requests && options_.duration_ns == 0)
    return bad_input("there are " + std::to_string(made_) + ", fewer than the " +
                     std::to_string(options_.requests) + " to make")
        .at_field("--requests");
  if (made_ == 0) return bad_input("no request arrives in this time").at_field("--duration");
  // Without an incomplete last block both readings fit; the ceiling allows more, so it is chosen, as in importers.
  summary_.last_may_be_partial = part_filled_ == 0;
  const auto warn = [&](std::int64_t count, const char* what) {
    if (count > 0)
      summary_.provenance.warnings.push_back(std::to_string(count) + " of " + std::to_string(made_) +
                                             " requests have no " + what + " tokens; runs reject them.");
  };
  warn(zero_input_, "input");
  warn(zero_output_, "output");
  return Done{};
}

Result<bool> SynthStream::next(Trace& piece) {
  clear_columns(piece);
  piece.prefix.block_tokens = options_.block_tokens;
  if (options_.block_tokens > 0) piece.prefix.offsets.push_back(0);
  if (ended_) return false;
  Session session;
  while (piece.size() < kPieceRequests &&
         static_cast<std::int64_t>(piece.prefix.ids.size()) < kPieceReferences) {
    bool more = options_.requests == 0 || made_ < options_.requests;
    if (more) {
      KVPLAN_TRY(more, next_turn(session));
    }
    if (!more) {
      KVPLAN_TRY_DO(finish());
      break;
    }
    KVPLAN_TRY([[maybe_unused]] const bool added, add_turn(session, piece));
  }
  return piece.size() > 0;
}

bool names_file(const Param& param) {
  return param.name == "file" || param.name == "pool";
}

/// The choice as text, with file names without their folders; the file names are also added to `sources`.
std::string described(const Choice& choice, std::vector<std::string>& sources) {
  std::string out(choice.name());
  for (std::size_t i = 0; i < choice.values().size(); ++i) {
    const Param& param = choice.descriptor().params[i];
    std::string text = choice.values()[i].text;
    if (names_file(param)) {
      text.erase(text.find_last_not_of('/') + 1);
      text.erase(0, text.find_last_of('/') + 1);
      sources.push_back(text);
    }
    out.append(i == 0 ? ":" : ",").append(param.name).append("=").append(text);
  }
  return out;
}

struct Choices {
  Choice arrivals, lengths, prefixes, turns;
};

Result<Choices> choices_of(const SynthOptions& options) {
  const auto part = [](const std::string& text, std::string_view family) {
    return parse_component(text, family, synth_descriptors(family));
  };
  Choices out;
  KVPLAN_TRY(out.arrivals, part(options.arrivals, "arrivals"));
  KVPLAN_TRY(out.lengths, part(options.lengths, "lengths"));
  KVPLAN_TRY(out.prefixes, part(options.prefixes, "prefixes"));
  KVPLAN_TRY(out.turns, part(options.turns, "turns"));
  return out;
}

Status check(const SynthOptions& options) {
  if (options.requests < 0 || options.requests > INT32_MAX)
    return bad_input("expected 1 to 2147483647").at_field("--requests");
  if (options.duration_ns < 0) return bad_input("expected a positive time").at_field("--duration");
  if (options.block_tokens < 1 || options.block_tokens > kMostBlockTokens)
    return bad_input("expected 1 to " + std::to_string(kMostBlockTokens)).at_field("--block");
  return Done{};
}

}  // namespace

std::span<const std::string_view> synth_families() {
  static constexpr std::array<std::string_view, 5> kFamilies{"arrivals", "lengths", "prefixes", "service",
                                                             "turns"};
  return kFamilies;
}

Catalogue synth_descriptors(std::string_view family) {
  if (family == "arrivals") return arrivals_descriptors();
  if (family == "lengths") return lengths_descriptors();
  if (family == "prefixes") return prefixes_descriptors();
  if (family == "service") return service_descriptors();
  if (family == "turns") return turns_descriptors();
  return {};
}

Result<std::vector<std::string>> synth_files(const SynthOptions& options) {
  KVPLAN_TRY(const Choices parts, choices_of(options));
  std::vector<std::string> files;
  for (const Choice* choice : {&parts.arrivals, &parts.lengths})
    for (std::size_t i = 0; i < choice->values().size(); ++i)
      if (names_file(choice->descriptor().params[i])) files.push_back(choice->values()[i].text);
  return files;
}

Result<std::unique_ptr<TraceStream>> make_synth(const SynthOptions& given) {
  SynthOptions options = given;
  KVPLAN_TRY_DO(check(options));
  KVPLAN_TRY(const Choices parts, choices_of(options));
  const auto& [arrivals_choice, lengths_choice, prefixes_choice, turns_choice] = parts;
  KVPLAN_TRY(auto turns, turns_entry(turns_choice).make(turns_choice));
  const LengthsEntry& lengths_from = lengths_entry(lengths_choice);
  if (lengths_from.from_arrivals && turns->has_sessions())
    return bad_input(
               "expected lengths that can be drawn for every turn; these lengths exist once per arrival")
        .at_field("--lengths");
  const auto context = [&](std::string_view name) {
    return PartContext{Random(options.seed, name), options.on_read};
  };
  KVPLAN_TRY(auto prefixes, prefixes_entry(prefixes_choice).make(prefixes_choice, context("synth.prefixes")));
  KVPLAN_TRY(auto arrivals, arrivals_entry(arrivals_choice).make(arrivals_choice, context("synth.arrivals")));
  if (lengths_from.from_arrivals && !arrivals->has_lengths())
    return bad_input("expected lengths: " + std::string(arrivals_choice.name()) + " arrivals have none")
        .at_field("--lengths");
  if (options.requests == 0 && options.duration_ns == 0 && !arrivals->ends())
    return bad_input("expected a number of requests or a --duration: these arrivals never end")
        .at_field("--requests");
  KVPLAN_TRY(auto lengths, lengths_from.make(lengths_choice, context("synth.lengths")));

  // If nothing is shared, every id would occur once: no ids are needed.
  const bool shares = turns->has_sessions() || prefixes_choice.name() != "none";
  if (!shares) options.block_tokens = 0;
  KVPLAN_TRY_DO(check_ids(options, *lengths, *prefixes));
  StreamSummary summary;
  summary.block_tokens = options.block_tokens;
  Provenance& provenance = summary.provenance;
  provenance.format = "synth";
  const auto note = [&](std::string_view name, const std::string& value) {
    provenance.options.push_back(std::string(name) + "=" + value);
  };
  note("arrivals", described(arrivals_choice, provenance.sources));
  note("lengths", described(lengths_choice, provenance.sources));
  note("prefixes", described(prefixes_choice, provenance.sources));
  note("turns", described(turns_choice, provenance.sources));
  note("seed", std::to_string(options.seed));
  if (options.requests > 0) note("requests", std::to_string(options.requests));
  if (options.duration_ns > 0) note("duration_ns", std::to_string(options.duration_ns));
  if (shares) note("block", std::to_string(options.block_tokens));
  return std::unique_ptr<TraceStream>(std::make_unique<SynthStream>(options, std::move(arrivals),
                                                                    std::move(lengths), std::move(prefixes),
                                                                    std::move(turns), std::move(summary)));
}

}  // namespace kvplan::traces
