#include "traces/record/statistics.h"

#include <algorithm>
#include <cmath>

#include "traces/record/turns.h"

namespace kvplan::traces {
namespace {

TokenStatistics token_statistics(std::vector<std::int32_t> values) {
  TokenStatistics out;
  if (values.empty()) return out;
  std::int64_t sum = 0;
  for (const std::int32_t value : values) sum += value;
  const auto count = static_cast<std::int64_t>(values.size());
  out.mean = static_cast<double>(sum) / static_cast<double>(count);
  // Ranks are taken in ascending order: each selection leaves all larger values behind it, where the next one searches.
  std::size_t sorted = 0;
  const auto rank = [&](std::int64_t percent) {  // ceil(percent / 100 x count), from 1
    const auto at = static_cast<std::size_t>(ceil_div(percent * count, 100) - 1);
    const auto begin = values.begin();
    std::nth_element(begin + static_cast<std::ptrdiff_t>(sorted), begin + static_cast<std::ptrdiff_t>(at),
                     values.end());
    sorted = at;
    return static_cast<std::int64_t>(values[at]);
  };
  out.p50 = rank(50);
  out.p95 = rank(95);
  out.p99 = rank(99);
  out.max = rank(100);
  return out;
}

void arrival_statistics(const Trace& trace, Statistics& out) {
  if (!trace.shares_clock || trace.size() == 0) return;
  std::vector<std::int64_t> times = trace.arrival_ns;
  if (!std::is_sorted(times.begin(), times.end())) std::sort(times.begin(), times.end());
  const auto seconds_between = [](std::int64_t from, std::int64_t to) {
    // The difference of two 64-bit times needs 65 bits.
    return static_cast<double>(Wide{to} - Wide{from}) / static_cast<double>(kNsPerSecond);
  };
  const double span = seconds_between(times.front(), times.back());
  out.span_s = span;
  if (times.size() < 2 || times.front() == times.back()) return;
  const auto gaps = static_cast<double>(times.size() - 1);
  out.rate_per_s = gaps / span;
  const double mean = span / gaps;
  double squares = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double off = seconds_between(times[i - 1], times[i]) - mean;
    squares += off * off;
  }
  out.interarrival_cv = std::sqrt(squares / gaps) / mean;
}

PrefixStatistics prefix_statistics(const Trace& trace) {
  const PrefixHashes& prefix = trace.prefix;
  PrefixStatistics out;
  out.block_tokens = prefix.block_tokens;
  out.references = static_cast<std::int64_t>(prefix.ids.size());
  out.distinct = prefix.distinct;
  std::vector<bool> seen(static_cast<std::size_t>(prefix.distinct), false);
  std::int64_t hit_blocks = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t prompt_tokens = 0;
  for (std::size_t i = 0; i < trace.input_tokens.size(); ++i) {
    const std::size_t end = prefix.offsets[i + 1];
    std::size_t at = prefix.offsets[i];
    std::int64_t hits = 0;
    for (; at < end && seen[prefix.ids[at]]; ++at) ++hits;
    for (; at < end; ++at) seen[prefix.ids[at]] = true;
    const std::int64_t prompt = trace.input_tokens[i];
    hit_blocks += hits;
    hit_tokens += std::min(hits * prefix.block_tokens, prompt);
    prompt_tokens += prompt;
  }
  if (out.references > 0)
    out.infinite_hit_blocks = static_cast<double>(hit_blocks) / static_cast<double>(out.references);
  if (prompt_tokens > 0)
    out.infinite_hit_tokens = static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens);
  return out;
}

TurnStatistics turn_statistics(const Trace& trace) {
  TurnStatistics out;
  out.waits = static_cast<std::int64_t>(trace.waits.size());
  std::vector<bool> waiting(trace.arrival_ns.size(), false);
  for (const std::int32_t request : trace.waits.request) waiting[static_cast<std::size_t>(request)] = true;
  out.waiting = std::count(waiting.begin(), waiting.end(), true);
  const Result<Turns> turns = turns_of(trace.waits, trace.size());
  if (turns.ok()) out.longest_chain = turns.value().longest_chain;
  return out;
}

}  // namespace

Statistics compute_statistics(const Trace& trace) {
  Statistics out;
  out.requests = trace.size();
  out.sessions = static_cast<std::int64_t>(trace.session_names.size());
  arrival_statistics(trace, out);
  out.input = token_statistics(trace.input_tokens);
  out.output = token_statistics(trace.output_tokens);
  if (trace.prefix.present()) out.prefix = prefix_statistics(trace);
  if (!trace.waits.empty()) out.turns = turn_statistics(trace);
  return out;
}

}  // namespace kvplan::traces
