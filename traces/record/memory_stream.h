// A trace in memory as a stream, for functions that take only streams (the .kvt writer, exports).
#pragma once

#include "traces/record/trace_stream.h"

namespace kvplan::traces {

/// REQUIRES: the trace outlives the stream and is well formed: columns of equal length, ids and names
/// numbered by first appearance.
class MemoryStream final : public TraceStream {
 public:
  explicit MemoryStream(const Trace& trace);
  Result<bool> next(Trace& piece) override;
  [[nodiscard]] const StreamSummary& summary() const override { return summary_; }

 private:
  const Trace& trace_;
  StreamSummary summary_;
  std::size_t next_row_{0};
  std::size_t next_wait_{0};
  std::size_t sessions_given_{0};
  std::size_t tenants_given_{0};
};

}  // namespace kvplan::traces
