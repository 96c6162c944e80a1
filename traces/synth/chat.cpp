#include "traces/synth/chat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulator/base/random.h"
#include "traces/record/digest.h"
#include "traces/record/memory_stream.h"
#include "traces/synth/services.h"

namespace kvplan::traces {
namespace {

/// A point of a distribution: (share of draws in a million, value), with straight lines between points.
struct Quantile {
  std::int64_t millionths;
  std::int64_t value;
};

template <std::size_t N>
std::int64_t draw(Random& random, const std::array<Quantile, N>& table) {
  const auto u = static_cast<std::int64_t>(random.below(1'000'000));
  std::size_t i = 1;
  while (table[i].millionths <= u) ++i;
  const Quantile& a = table[i - 1];
  const Quantile& b = table[i];
  return a.value + (b.value - a.value) * (u - a.millionths) / (b.millionths - a.millionths);
}

/// Quantiles of the exponential distribution with mean 1000: -1000 ln(1 - u). The straight lines make the
/// mean 1027.
constexpr std::array<Quantile, 11> kExponential{{{0, 0},
                                                 {100'000, 105},
                                                 {250'000, 288},
                                                 {400'000, 511},
                                                 {550'000, 799},
                                                 {700'000, 1204},
                                                 {800'000, 1609},
                                                 {900'000, 2303},
                                                 {970'000, 3507},
                                                 {996'000, 5521},
                                                 {1'000'000, 8000}}};
/// Lengths with a long tail, in tokens.
constexpr std::array<Quantile, 7> kQuestion{{{0, 8},
                                             {250'000, 30},
                                             {500'000, 80},
                                             {750'000, 220},
                                             {900'000, 700},
                                             {990'000, 3000},
                                             {1'000'000, 6000}}};
constexpr std::array<Quantile, 7> kAnswer{{{0, 4},
                                           {250'000, 60},
                                           {500'000, 160},
                                           {750'000, 330},
                                           {900'000, 600},
                                           {990'000, 1200},
                                           {1'000'000, 1800}}};
constexpr std::array<Quantile, 5> kTurns{{{0, 1}, {400'000, 2}, {700'000, 4}, {950'000, 9}, {1'000'000, 16}}};

struct Application {
  const char* name;
  std::int64_t system_tokens;
  std::uint64_t share;  ///< of conversations, in hundredths
};
constexpr std::array<Application, 3> kApplications{
    {{"assistant", 480, 55}, {"support", 1500, 30}, {"coder", 2600, 15}}};

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kAnswerNsPerToken = 25 * kNsPerMs;  ///< the pace at which the recorded server answered
constexpr std::int64_t kReadingNs = 20 * kNsPerSecond;     ///< mean pause before the next question
constexpr std::int64_t kCalmNs = 60 * kNsPerSecond;        ///< a calm and a burst follow each other
constexpr std::int64_t kBurstNs = 15 * kNsPerSecond;
constexpr std::int64_t kMeanTurns = 32;  ///< of a conversation, in tenths: the mean of kTurns, rounded down

struct Turn {
  std::int64_t arrival_ns;
  std::int32_t conversation;
  std::int32_t application;
  std::int64_t prompt;
  std::int64_t answer;
};

std::int64_t exponential_wait(Random& random, std::int64_t mean) {
  return static_cast<std::int64_t>(Wide{mean} * draw(random, kExponential) / 1000);
}

std::int32_t pick_application(Random& random) {
  std::uint64_t ticket = random.below(100);
  std::int32_t a = 0;
  while (ticket >= kApplications[static_cast<std::size_t>(a)].share)
    ticket -= kApplications[static_cast<std::size_t>(a++)].share;
  return a;
}

/// Appends the turns of one conversation.
void converse(Random& random, std::int64_t start_ns, std::int32_t conversation, std::vector<Turn>& turns) {
  const std::int32_t application = pick_application(random);
  std::int64_t history = kApplications[static_cast<std::size_t>(application)].system_tokens;
  std::int64_t now = start_ns;
  for (std::int64_t left = draw(random, kTurns); left > 0; --left) {
    history += draw(random, kQuestion);
    const std::int64_t answer = draw(random, kAnswer);
    turns.push_back({now, conversation, application, history, answer});
    history += answer;
    now += answer * kAnswerNsPerToken + exponential_wait(random, kReadingNs);
  }
}

/// Makes the ids of a prompt. A full block of the system prompt is identified by its application, a later full block
/// by its conversation (the history only grows), an incomplete last block by its request alone.
class Hashes {
 public:
  Hashes(PrefixHashes& out, std::int64_t block) : out_(out) {
    out_.block_tokens = block;
    out_.offsets.push_back(0);
  }
  void add(const Turn& turn) {
    const std::int64_t block = out_.block_tokens;
    const std::int64_t shared =
        kApplications[static_cast<std::size_t>(turn.application)].system_tokens / block;
    const std::int64_t full = turn.prompt / block;
    for (std::int64_t i = 0; i < full; ++i)
      out_.ids.push_back(number(i < shared ? -1 - turn.application : turn.conversation, i));
    if (turn.prompt % block != 0) out_.ids.push_back(static_cast<std::uint32_t>(out_.distinct++));
    out_.offsets.push_back(out_.ids.size());
  }

 private:
  std::uint32_t number(std::int32_t owner, std::int64_t position) {
    std::vector<std::uint32_t>& known = blocks_[owner];
    // The positions of an owner are first used in order; those of the system prompt do not count for a conversation.
    const auto at = static_cast<std::size_t>(position);
    if (known.size() <= at) known.resize(at + 1, kNone);
    if (known[at] == kNone) known[at] = static_cast<std::uint32_t>(out_.distinct++);
    return known[at];
  }
  static constexpr std::uint32_t kNone = UINT32_MAX;
  PrefixHashes& out_;
  std::map<std::int32_t, std::vector<std::uint32_t>> blocks_;
};

Status in_range(std::string_view name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return Done{};
  return bad_input("expected " + std::to_string(low) + " to " + std::to_string(high) + ", found " +
                   std::to_string(value))
      .at_field(name);
}

/// Turns of enough conversations, in order of arrival, cut to the wanted number. Conversations start at a rate that
/// gives the wanted average: slowly for a minute, then `burst_factor` times as fast for a quarter of a minute.
std::vector<Turn> make_turns(const ChatOptions& options) {
  Random random(options.seed, "chat");
  // Mean gap of conversations in calm: turns x (calm + factor x burst) / ((calm + burst) x rate).
  const Wide gap = Wide{kMeanTurns} * (kCalmNs + options.burst_factor * kBurstNs) * 1000 * kNsPerSecond /
                   (Wide{10} * (kCalmNs + kBurstNs) * options.rate_mhz);
  const auto calm_gap = static_cast<std::int64_t>(gap);
  std::vector<Turn> turns;
  std::int64_t now = 0;
  std::int32_t conversation = 0;
  // Requests after the last start are cut off, so that the trace does not end with a server that empties.
  while (static_cast<std::int64_t>(turns.size()) < options.requests + options.requests / 2 + 64) {
    converse(random, now, conversation++, turns);
    const bool burst = now % (kCalmNs + kBurstNs) >= kCalmNs;
    now += exponential_wait(random, burst ? calm_gap / options.burst_factor : calm_gap);
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn& a, const Turn& b) { return a.arrival_ns < b.arrival_ns; });
  turns.resize(static_cast<std::size_t>(options.requests));
  return turns;
}

}  // namespace

Result<Trace> make_chat(const ChatOptions& options) {
  KVPLAN_TRY_DO(in_range("requests", options.requests, 1, 1'000'000));
  KVPLAN_TRY_DO(in_range("rate", options.rate_mhz, 1, 1'000'000'000));
  KVPLAN_TRY_DO(in_range("burst", options.burst_factor, 1, 1000));
  KVPLAN_TRY_DO(in_range("block", options.block_tokens, 1, 4096));
  Trace trace;
  Hashes hashes(trace.prefix, options.block_tokens);
  std::map<std::int32_t, std::int32_t> session_of;
  std::array<std::int32_t, kApplications.size()> tenant_of{};
  tenant_of.fill(-1);
  for (const Turn& turn : make_turns(options)) {
    trace.arrival_ns.push_back(turn.arrival_ns);
    trace.input_tokens.push_back(static_cast<std::int32_t>(turn.prompt));
    trace.output_tokens.push_back(static_cast<std::int32_t>(turn.answer));
    hashes.add(turn);
    const auto [session, fresh] =
        session_of.try_emplace(turn.conversation, static_cast<std::int32_t>(session_of.size()));
    if (fresh) trace.session_names.push_back("chat-" + std::to_string(turn.conversation));
    trace.session.push_back(session->second);
    std::int32_t& tenant = tenant_of[static_cast<std::size_t>(turn.application)];
    if (tenant < 0) {
      tenant = static_cast<std::int32_t>(trace.tenant_names.size());
      trace.tenant_names.emplace_back(kApplications[static_cast<std::size_t>(turn.application)].name);
    }
    trace.tenant.push_back(tenant);
  }
  trace.provenance.format = "chat";
  trace.provenance.options = {
      "requests=" + std::to_string(options.requests), "seed=" + std::to_string(options.seed),
      "rate_mhz=" + std::to_string(options.rate_mhz), "burst=" + std::to_string(options.burst_factor),
      "block=" + std::to_string(options.block_tokens)};
  MemoryStream stream(trace);
  TraceDigest digest;
  digest.add(trace);
  trace.digest = digest.finish(stream.summary());
  return trace;
}

}  // namespace kvplan::traces

namespace kvplan::traces::chat {
namespace {

constexpr std::array<Param, 2> kParams{
    Param{.name = "rate_per_s",
          .help = "Mean requests per second over calm and burst phases, once conversations are under way",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kNone,
          .fallback = "5",
          .low = 0.001,
          .high = 1e6,
          .choices = {}},
    Param{.name = "burst",
          .help = "Factor on the start rate of conversations in bursts",
          .kind = ParamKind::kInteger,
          .unit = Unit::kRatio,
          .fallback = "6",
          .low = 1,
          .high = 1000,
          .choices = {}}};

Result<Trace> make(const Choice& choice, const ServiceOptions& options) {
  return make_chat({.requests = options.requests,
                    .seed = options.seed,
                    .rate_mhz = std::llround(choice.decimal("rate_per_s") * 1000),
                    .burst_factor = choice.integer("burst"),
                    .block_tokens = options.block_tokens});
}

}  // namespace

extern const ServiceEntry kMember;
const ServiceEntry kMember{
    .descriptor = {.family = "service",
                   .name = "chat",
                   .summary = "Three applications with system prompts, multi-turn conversations with growing "
                              "prompts, and bursts. The defaults give the bundled sample.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::chat
