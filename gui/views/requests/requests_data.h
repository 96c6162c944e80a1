// The requests of a run as a table, and the life of one of them in words. The numbers are those of
// `kvplan run --requests`.
#pragma once

#include "gui/views/table_model.h"
#include "gui/worker/inspection.h"

namespace kvplan::gui {

/// Columns by which the view sorts.
enum class RequestColumn : std::uint8_t {
  kRequest,
  kStatus,
  kArrival,
  kQueue,
  kTtft,
  kTpot,
  kE2e,
  kInput,
  kOutput,
  kTokens,
  kPreemptions,
  kComputed,
  kPrefixHit,
  kPeakHeld,
  kHeld,
  kReplica,
};
constexpr int column_of(RequestColumn column) {
  return static_cast<int>(column);
}

/// One row for each request, in the order of the trace.
TableContent requests_table(const InspectionPtr& inspection);

/// True: the request was in the system at some moment of [begin, end].
bool present(const Inspection& inspection, std::size_t request, std::int64_t begin, std::int64_t end);

QString status_text(observe::RequestStatus status);
QString life_name(LifePart::Kind kind);
/// "waited 2 s; prefill 0.1 s (512 tokens); ...": the parts of each kind, summed.
QString life_text(const std::vector<LifePart>& life);

}  // namespace kvplan::gui
