#include "simulator/io/log/rules.h"

#include "proto/event_log.pb.h"
#include "simulator/io/log/rules_message.h"

namespace kvplan::event_log {

void write_rules(const Rules& rules, v1::EventLogHeader& header) {
  header.set_prefills_apart(rules.prefills_apart);
  header.set_by_priority(rules.by_priority);
}

Rules read_rules(const v1::EventLogHeader& header) {
  return {.prefills_apart = header.prefills_apart(), .by_priority = header.by_priority()};
}

std::uint32_t version_of_rules(const Rules& rules) {
  if (rules.by_priority) return 9;
  return rules.prefills_apart ? 7 : 1;
}

Status check_rules(const Header& header) {
  const bool plain = header.table_form == TableForm::kTokens && header.returns_alloc_units &&
                     !header.prefix_cache && header.track_units.empty() && header.groups.empty();
  if (header.rules.prefills_apart && !plain)
    return bad_input(
               "expected blocks that are not inserted into the prefix cache, without retention schedules or "
               "layer groups, when prefill batches are separate")
        .at_field("prefills_apart");
  const bool by_priority =
      !header.rules.prefills_apart && header.groups.empty() && header.track_units.empty();
  if (header.rules.by_priority && !by_priority)
    return bad_input(
               "expected no retention schedules, no layer groups, and prefills mixed with decodes, with "
               "policy=priority")
        .at_field("by_priority");
  return Done{};
}

}  // namespace kvplan::event_log
