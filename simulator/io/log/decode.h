// Converts messages of an event log to plain structs, with every value checked against its range. For reader.cpp.
#pragma once

#include "proto/event_log.pb.h"
#include "simulator/base/result.h"
#include "simulator/io/log/events.h"

namespace kvplan::event_log {

/// Errors have the field, but not the location in the file.
Result<Header> decode_header(const ::kvplan::v1::EventLogHeader& message);
/// For a log with this many replicas. `claim` may be null.
Result<Record> decode_record(const ::kvplan::v1::Fact& fact, const ::kvplan::v1::Claim* claim,
                             std::int32_t replicas);

}  // namespace kvplan::event_log
