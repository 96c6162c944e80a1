// The scheduler rules in the header of a log.
#pragma once

#include <cstdint>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"

namespace kvplan::v1 {
class EventLogHeader;
}

namespace kvplan::event_log {

void write_rules(const Rules& rules, v1::EventLogHeader& header);
Rules read_rules(const v1::EventLogHeader& header);
/// The first version of the format that has these rules; 1 if there are no rules.
std::uint32_t version_of_rules(const Rules& rules);
/// Checks that memory as in the header is possible under its rules.
Status check_rules(const Header& header);

}  // namespace kvplan::event_log
