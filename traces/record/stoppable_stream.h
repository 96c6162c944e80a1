// A stream that can be stopped.
#pragma once

#include <functional>

#include "simulator/base/result.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

/// Passes the pieces of another stream, which outlives it, until `stop` returns true; then interrupted_error(). An
/// empty `stop` never does.
class StoppableStream final : public TraceStream {
 public:
  StoppableStream(TraceStream& stream, std::function<bool()> stop)
      : stream_(stream), stop_(std::move(stop)) {}
  Result<bool> next(Trace& piece) override {
    if (stop_ && stop_()) return interrupted_error();
    return stream_.next(piece);
  }
  [[nodiscard]] const StreamSummary& summary() const override { return stream_.summary(); }
  [[nodiscard]] double share_read() const override { return stream_.share_read(); }

 private:
  TraceStream& stream_;
  std::function<bool()> stop_;
};

}  // namespace kvplan::traces
