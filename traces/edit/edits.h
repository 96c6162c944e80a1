// Makes traces from traces: a part, a sample, another rate or other lengths, several merged, false bursts spread out.
// Every function returns a well-formed trace: ids and names are numbered anew by first appearance, requests keep the
// order of the file, the digest is its own, and provenance.options describes the change. Arrivals are kept as recorded
// unless said otherwise. Warnings with counts are counted again; other warnings are marked as warnings about the
// original (remarks.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

/// The requests at `rows` (positions in the trace, each at most once), in that order. A wait for a request that is
/// not among them is dropped.
Trace select_rows(const Trace& trace, std::span<const std::int64_t> rows);

/// Requests that arrive in [begin_ns, end_ns) since the first arrival. Errors: the requests have no common clock;
/// nothing arrives in that time.
Result<Trace> window_of(const Trace& trace, std::int64_t begin_ns, std::int64_t end_ns);

/// `count` requests drawn without replacement, every set equally likely. Requests of a session are drawn together (a
/// turn without earlier turns is another workload), and so are requests that wait for each other, until there are at
/// least `count` requests. Other requests count as one. Errors: fewer than `count` requests; a cycle of waits.
Result<Trace> sample_of(const Trace& trace, std::int64_t count, std::uint64_t seed);

/// Other traffic of the same kind, to learn how much a result depends on the recorded traffic. Where requests share a
/// clock, time is cut into at most 48 equal blocks, and each is replaced by one of the 13 blocks around it, drawn with
/// replacement (the local block bootstrap of Paparoditis and Politis, 2002): a busy hour stays busy. Sessions and
/// requests that wait for each other are in the block of their first request. Without a clock, or with fewer than 64
/// sessions or single requests, each place is taken by a session drawn from all. Prefix ids that occur in one block (or
/// session) only are new in each copy. Measured times are dropped. A seed always gives the same traffic. Errors: no
/// requests, or none in the blocks that were drawn; a cycle of waits.
Result<Trace> resampled(const Trace& trace, std::uint64_t seed);

/// How a trace is stretched.
struct Scaling {
  /// Factor by which arrivals become faster: times since the first arrival are divided by it and rounded down. Among
  /// requests that wait for each other the earliest is moved, and the others keep their distance to it.
  Fraction rate;
  /// Factors for prompt and output lengths, rounded to the nearest token (halves up); a length of at least 1 stays at
  /// least 1.
  Fraction input, output;
};
/// Prefix ids beyond the new prompt are dropped; if a prompt becomes longer, the added part shares nothing. Measured
/// times (ttft, e2e) are dropped if lengths change, since they belong to the old lengths. Errors: a value out of
/// range.
Result<Trace> scaled(const Trace& trace, const Scaling& scaling);

/// All requests of several traces, each counted from its own first arrival, ordered by arrival (equal times in the
/// order given). Prefix ids and sessions of different traces are different; tenants with equal names are the same.
/// `files`: names for errors, parallel to the traces; may be left out. Errors: a trace without a clock; prefix ids
/// for different numbers of tokens.
Result<Trace> merged(std::span<const Trace* const> traces, std::span<const std::string> files = {});

/// Start times for sessions without a common clock: the first request of each session (or group of requests that wait
/// for each other, or single request), in the order of the file, arrives by a Poisson process of this rate, the first
/// at 0; the others keep their distance to it. A seed always gives the same starts. Errors: a cycle of waits; times
/// that do not fit.
Result<Trace> started(const Trace& trace, Fraction rate_per_s, std::uint64_t seed);

/// The interval over which requests with the same timestamp are spread: the clock's tick (the greatest common divisor
/// of all times since the first), the time until the next timestamp that occurs (for the last one: as long as for the
/// one before), or a given width.
enum class SpreadOver : std::uint8_t { kTick, kNext, kGiven };
struct Spreading {
  SpreadOver over{SpreadOver::kTick};
  std::int64_t over_ns{0};  ///< for kGiven, positive
  bool even{true};          ///< true: equal steps, the first at the timestamp; false: random times, in order
  std::uint64_t seed{0};    ///< seed of random times
};
/// Recorders round times, so requests seem to arrive in bursts. The requests with timestamp t get times in [t, t +
/// width), in the order of the file, never beyond the next timestamp. So the order of arrivals is kept, and no request
/// arrives earlier than recorded. Errors: the requests have no common clock; only one timestamp and no given width; a
/// time that does not fit.
Result<Trace> spread_out(const Trace& trace, const Spreading& spreading);
/// The tick of a trace's clock in ns; 0 if all requests arrive at one time.
std::int64_t tick_of(const Trace& trace);

}  // namespace kvplan::traces
