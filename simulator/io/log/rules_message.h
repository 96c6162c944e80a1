// Rules of a scheduler in the header of a log.
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
/// The first version of the format that has these rules; 1 where there are none.
std::uint32_t version_of_rules(const Rules& rules);
/// Whether the memory can be what the header says, under its rules.
Status check_rules(const Header& header);

}  // namespace kvplan::event_log
