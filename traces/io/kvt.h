// Reads and writes kvplan's own trace files (.kvt) as streams: memory does not grow with the length of the
// trace.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"
#include "traces/io/input.h"
#include "traces/io/output.h"
#include "traces/record/digest.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

/// Writes one trace. Life cycle: `begin`, `add` for each piece in order, `finish`; then the caller commits
/// the output.
class KvtWriter {
 public:
  /// `most_with_waits`: smaller in tests.
  explicit KvtWriter(Output& output, std::int64_t most_with_waits = kMostRequestsWithWaits)
      : output_(output), most_with_waits_(most_with_waits) {}

  /// `summary`: the stream's summary before the first piece; only the members that are final then are used.
  Status begin(const StreamSummary& summary);
  Status add(const Trace& piece);
  /// `summary`: the stream's summary after the last piece. `digest()` is then the digest that was written.
  Status finish(const StreamSummary& summary);
  [[nodiscard]] const std::string& digest() const { return digest_text_; }

 private:
  Status put(std::string_view bytes);

  Output& output_;
  std::int64_t most_with_waits_;
  TraceDigest digest_;
  std::string digest_text_;
  std::uint64_t position_{0};
  std::vector<std::uint64_t> chunk_offsets_;
  std::vector<std::uint32_t> chunk_requests_;
  std::uint64_t requests_{0};
  std::uint64_t references_{0};
};

/// True when the input begins like a .kvt. Consumes nothing.
bool looks_like_kvt(Input& input);
/// Reads a .kvt. Every byte is checked: a flipped bit, a missing part or a foreign part is an error with its
/// offset.
Result<std::unique_ptr<TraceStream>> open_kvt(std::unique_ptr<Input> input);

/// Facts about a trace that `write_kvt` has written.
struct WrittenTrace {
  StreamSummary summary;
  std::int64_t requests{0};
  std::int64_t span_ns{0};  ///< latest arrival less the earliest, at most 2^63 - 1
};

/// Reads `stream` to its end into a .kvt at `path`, which appears complete or not at all. `stop` is called between
/// pieces; if it returns true, the error is of kind kInterrupted.
Result<WrittenTrace> write_kvt(TraceStream& stream, const std::string& path, bool (*stop)());

}  // namespace kvplan::traces
