// A trace that is read piece by piece, so that memory does not grow with its length. Importers and the .kvt reader are
// streams; `collect` makes a whole `Trace` from a stream.
#pragma once

#include <cstdint>

#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

/// A piece ends after this many requests, prefix references or waits, whichever comes first.
inline constexpr std::int64_t kPieceRequests = 65'536;
inline constexpr std::int64_t kPieceReferences = 1 << 20;
inline constexpr std::int64_t kPieceWaits = 1 << 18;
/// Prompts with more prefix ids than this are refused: 2 M ids of 16 tokens are a prompt of 33 M tokens.
inline constexpr std::int64_t kMaxIdsPerRequest = 1 << 21;
/// Imports refuse requests at which more waits than this become known.
inline constexpr std::size_t kMaxWaitsPerRequest = std::size_t{1} << 16;
/// Positions in waits have 31 bits: a piece with waits ends at this request of the trace, or before it.
inline constexpr std::int64_t kMostRequestsWithWaits = (std::int64_t{1} << 31) - 1;
/// Longest name of a session or a tenant, in bytes.
inline constexpr std::int64_t kMaxNameBytes = 1024;

/// Facts about a trace as a whole. Complete when the stream has ended; before that, `block_tokens`,
/// `shares_clock` and `provenance` without its warnings are already final.
struct StreamSummary {
  std::int64_t block_tokens{0};  ///< 0 = no prefix hashes
  std::int64_t distinct{0};
  bool last_may_be_partial{true};
  bool shares_clock{true};
  std::string digest;  ///< the digest in the source if it has one (.kvt), else empty
  Provenance provenance;
};

/// Life cycle: call `next` until it returns false or an error; the object must not be used after an error.
class TraceStream {
 public:
  TraceStream() = default;
  TraceStream(const TraceStream&) = delete;
  TraceStream& operator=(const TraceStream&) = delete;
  virtual ~TraceStream() = default;

  /// Fills `piece` (its former content is dropped) with the next requests; false at the end. A piece has its
  /// own `prefix.offsets` from 0; ids, session and tenant numbers and positions in `waits` are those of the whole
  /// trace; `session_names` and `tenant_names` hold only the names that appear for the first time in this piece. An
  /// optional column may be empty in one piece and full in another.
  virtual Result<bool> next(Trace& piece) = 0;
  [[nodiscard]] virtual const StreamSummary& summary() const = 0;
  /// Share of the source that has been read, at most 1; 0 if that is not known.
  [[nodiscard]] virtual double share_read() const { return 0; }
};

/// Empties all columns of a piece and keeps their memory.
void clear_columns(Trace& piece);

/// The whole trace in memory, with its digest.
Result<Trace> collect(TraceStream& stream);

}  // namespace kvplan::traces
