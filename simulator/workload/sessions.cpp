#include "simulator/workload/sessions.h"

#include <array>

#include "simulator/base/units.h"

namespace kvplan::workload {
namespace {

constexpr std::array<Param, 2> kPauses{{
    {.name = "think_scale",
     .help = "Factor on pauses between turns",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "1",
     .low = 0,
     .high = 1000},
    {.name = "max_think_s",
     .help = "Longest pause between turns, applied before the factor",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kSeconds,
     .fallback = "4000000",
     .low = 0,
     .high = 4'000'000},
}};

constexpr std::array<Param, 2> kOfClients{{
    {.name = "clients",
     .help = "Number of clients. Each waits for its answer, so at most so many requests are in flight",
     .kind = ParamKind::kInteger,
     .unit = Unit::kNone,
     .fallback = "",
     .low = 1,
     .high = 1'000'000},
    {.name = "think_s",
     .help = "Pause of a client between an answer and its next request",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kSeconds,
     .fallback = "0",
     .low = 0,
     .high = 4'000'000},
}};

constexpr Descriptor kLoadTest{
    .family = "sessions",
    .name = "load-test",
    .summary =
        "The clients of a load generator share the trace's list of requests. The client that is free sends "
        "the next request of the list; recorded times only order the list.",
    .source =
        "The same loop as --max-concurrency with an infinite --request-rate in vLLM's bench serve "
        "(vllm-project/vllm, vllm/benchmarks/serve.py)",
    .params = kOfClients};

constexpr Descriptor kClosed{
    .family = "sessions",
    .name = "closed",
    .summary =
        "A turn arrives when the earlier turns of its session have ended in the run and the recorded pause "
        "has passed; sessions start at their recorded times.",
    .source =
        "kvplan; ai-dynamo/dynamo lib/data-gen/src/mooncake.rs has similar turns, with different pauses",
    .params = kPauses};

constexpr Descriptor kOpen{.family = "sessions",
                           .name = "open",
                           .summary = "Every request arrives at its recorded time.",
                           .source = "kvplan",
                           .params = {}};

constexpr Descriptor kStated{.family = "sessions",
                             .name = "stated",
                             .summary =
                                 "Like closed, but only for requests with explicit waits in the trace; all "
                                 "others arrive at their recorded times.",
                             .source = "kvplan",
                             .params = kPauses};

}  // namespace

Catalogue session_descriptors() {
  static constexpr std::array kAll{&kClosed, &kLoadTest, &kOpen, &kStated};
  return kAll;
}

SessionRule session_rule(const Choice& sessions) {
  SessionRule rule;
  if (sessions.name() == kOpen.name) {
    rule.waits = SessionRule::Waits::kNone;
    return rule;
  }
  // In units of 2^-20 s, in which the largest value fits.
  const auto ns_of = [&](std::size_t param) {
    const std::int64_t value = decimal_times_power_of_two(sessions.values()[param].text, 20).value_or(0);
    return static_cast<std::int64_t>(Wide{value} * kNsPerSecond >> 20);
  };
  if (sessions.name() == kLoadTest.name) {
    rule.waits = SessionRule::Waits::kClients;
    rule.clients = sessions.integer("clients");
    rule.client_think_ns = ns_of(1);
    return rule;
  }
  if (sessions.name() == kClosed.name) rule.waits = SessionRule::Waits::kSessions;
  rule.think_scale_2_20 = decimal_times_power_of_two(sessions.values()[0].text, 20).value_or(0);
  rule.most_think_ns = ns_of(1);
  return rule;
}

}  // namespace kvplan::workload
