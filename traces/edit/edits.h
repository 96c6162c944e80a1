// Traces out of traces: a part of one, a sample, another pace or other lengths, several at once, false
// bursts spread. Every function
// gives a well-formed trace of its own: ids and names are numbered anew by first appearance, requests keep the
// order of the file, the digest is its own, and provenance.options says what was done. Arrivals are kept as
// recorded unless said otherwise. Warnings that count something are counted anew; the others say that they are of
// the original (remarks.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

/// The requests at `rows`, positions in the trace, each at most once, in that order. Who waited for a request that is
/// not among them waits no longer.
Trace select_rows(const Trace& trace, std::span<const std::int64_t> rows);

/// Requests that arrive in [begin_ns, end_ns) since the first arrival. Errors: the requests share no clock; nothing
/// arrives then.
Result<Trace> window_of(const Trace& trace, std::int64_t begin_ns, std::int64_t end_ns);

/// `count` requests drawn without replacement, every set of them equally likely. Where requests belong to sessions,
/// whole sessions are drawn until there are at least `count` requests, since a turn without the turns before it is
/// another workload; so are requests that wait for each other. Any other request counts as one.
/// Errors: fewer than `count` requests; waits in a circle.
Result<Trace> sample_of(const Trace& trace, std::int64_t count, std::uint64_t seed);

/// How a trace is stretched.
struct Scaling {
  /// Arrivals are this many times as fast: times since the first one divided, rounded down. Of requests that wait for
  /// each other the earliest is moved, and the others keep their distance to it.
  Fraction rate;
  Fraction
      input;  ///< prompts so many times as long, to the nearest token (halves up), at least 1 if they were
  Fraction output;  ///< likewise
};
/// Prefix ids beyond the new prompt are dropped; what a longer prompt has beyond them shares nothing. Measured times
/// (ttft, e2e) are dropped where lengths change, since they belong to the old ones. Errors: a value out of range.
Result<Trace> scaled(const Trace& trace, const Scaling& scaling);

/// All requests of several traces, each from its own first arrival on, by arrival (equal times in the order given).
/// Prefix ids and sessions of different traces are different ones; tenants of one name are one tenant. `files` are
/// their names in errors, parallel to them; may be left out. Errors: a trace without a clock; prefix ids of different
/// numbers of tokens.
Result<Trace> merged(std::span<const Trace* const> traces, std::span<const std::string> files = {});

/// Starts for sessions that have none in common: the first request of each session (or of requests that wait for
/// each other, or a request by itself), in the order of the file, arrives by a Poisson process of this rate, the
/// first at 0; the others keep their distance to it. Then all share a clock. The same seed gives the same starts.
/// Errors: waits in a circle; times that do not fit.
Result<Trace> started(const Trace& trace, Fraction rate_per_s, std::uint64_t seed);

/// How far the requests of one timestamp are spread: over the clock's tick (the greatest common divisor of all times
/// since the first), up to the next timestamp that occurs (after the last one as far as before it), or over a given
/// width.
enum class SpreadOver : std::uint8_t { kTick, kNext, kGiven };
struct Spreading {
  SpreadOver over{SpreadOver::kTick};
  std::int64_t over_ns{0};  ///< for kGiven, positive
  bool even{true};        ///< at equal steps, the first where it was; else at times drawn by chance, in order
  std::uint64_t seed{0};  ///< for times drawn by chance
};
/// Recorders round times, so that requests seem to come in bursts. Here the requests of each timestamp t get times in
/// [t, t + width), in the order of the file, never beyond the next timestamp: whoever came earlier still does, nobody
/// comes earlier than recorded. Errors: the requests share no clock; all of one moment and no given width; a time
/// that does not fit.
Result<Trace> spread_out(const Trace& trace, const Spreading& spreading);
/// The tick of a trace's clock in ns; 0 where all requests arrive at one moment.
std::int64_t tick_of(const Trace& trace);

}  // namespace kvplan::traces
