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
  static constexpr std::array kAll{&kClosed, &kOpen, &kStated};
  return kAll;
}

SessionRule session_rule(const Choice& sessions) {
  SessionRule rule;
  if (sessions.name() == kOpen.name) {
    rule.waits = SessionRule::Waits::kNone;
    return rule;
  }
  if (sessions.name() == kClosed.name) rule.waits = SessionRule::Waits::kSessions;
  rule.think_scale_2_20 = decimal_times_power_of_two(sessions.values()[0].text, 20).value_or(0);
  // In units of 2^-20 s, in which the largest value fits.
  const std::int64_t most = decimal_times_power_of_two(sessions.values()[1].text, 20).value_or(0);
  rule.most_think_ns = static_cast<std::int64_t>(Wide{most} * kNsPerSecond >> 20);
  return rule;
}

}  // namespace kvplan::workload
