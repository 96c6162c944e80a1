#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "simulator/base/units.h"
#include "traces/edit/edits.h"
#include "traces/edit/remarks.h"
#include "traces/record/turns.h"

namespace kvplan::traces {
namespace {

std::string text_of(const Fraction& f) {
  const std::string p = std::to_string(f.numerator);
  return f.denominator == 1 ? p : p + "/" + std::to_string(f.denominator);
}

/// Rounds to the nearest number, halves up; at least 1 if it was above 0; returns nothing if the length is too large.
std::optional<std::int32_t> scaled_tokens(std::int32_t tokens, const Fraction& by) {
  const Wide twice = Wide{2} * tokens * by.numerator + by.denominator;
  const Wide out = std::max<Wide>(twice / (Wide{2} * by.denominator), tokens > 0 ? 1 : 0);
  if (out > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(out);
}

Status scale_lengths(std::vector<std::int32_t>& lengths, const Fraction& by, const char* what) {
  if (by == Fraction{}) return Done{};
  for (std::int32_t& tokens : lengths) {
    const auto scaled = scaled_tokens(tokens, by);
    if (!scaled)
      return bad_input(std::string(what) + " of " + std::to_string(tokens) + " tokens would be longer than " +
                       std::to_string(std::numeric_limits<std::int32_t>::max()));
    tokens = *scaled;
  }
  return Done{};
}

/// Requests that wait for others keep their distance to the start of their group.
Status scale_arrivals(Trace& trace, const Fraction& rate) {
  std::vector<std::int64_t>& arrivals = trace.arrival_ns;
  if (rate == Fraction{} || arrivals.empty()) return Done{};
  KVPLAN_TRY(const Turns turns, turns_of(trace.waits, trace.size()));
  const std::vector<std::int64_t> starts = turns.present() ? group_starts_ns(trace, turns) : arrivals;
  const std::int64_t first = *std::min_element(arrivals.begin(), arrivals.end());
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const std::int64_t start = starts[turns.present() ? static_cast<std::size_t>(turns.group[i]) : i];
    const Wide scaled = (Wide{start} - first) * rate.denominator / rate.numerator + first;
    const Wide arrival = scaled + (Wide{arrivals[i]} - start);
    if (arrival > std::numeric_limits<std::int64_t>::max())
      return bad_input("arrivals would be later than 292 years after the first");
    arrivals[i] = static_cast<std::int64_t>(arrival);
  }
  return Done{};
}

/// Removes ids beyond the end of each prompt, and numbers that are no longer used.
void cut_ids(Trace& trace) {
  PrefixHashes& prefix = trace.prefix;
  if (!prefix.present()) return;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> ids;
  for (std::size_t row = 0; row < trace.input_tokens.size(); ++row) {
    const std::uint64_t begin = prefix.offsets[row];
    const std::int64_t tokens = trace.input_tokens[row];
    const std::int64_t most =
        prefix.last_may_be_partial ? ceil_div(tokens, prefix.block_tokens) : tokens / prefix.block_tokens;
    const std::uint64_t end = std::min(prefix.offsets[row + 1], begin + static_cast<std::uint64_t>(most));
    ids.insert(ids.end(), prefix.ids.begin() + static_cast<std::ptrdiff_t>(begin),
               prefix.ids.begin() + static_cast<std::ptrdiff_t>(end));
    offsets.push_back(ids.size());
  }
  prefix.offsets = std::move(offsets);
  prefix.ids = std::move(ids);
}

}  // namespace

Result<Trace> scaled(const Trace& trace, const Scaling& scaling) {
  Trace changed = trace;
  KVPLAN_TRY_DO(scale_arrivals(changed, scaling.rate));
  KVPLAN_TRY_DO(scale_lengths(changed.input_tokens, scaling.input, "a prompt"));
  KVPLAN_TRY_DO(scale_lengths(changed.output_tokens, scaling.output, "an output"));
  if (scaling.input != Fraction{} || scaling.output != Fraction{}) {
    cut_ids(changed);
    changed.ttft_ns.clear();
    changed.e2e_ns.clear();
  }
  std::vector<std::int64_t> rows(changed.arrival_ns.size());
  std::iota(rows.begin(), rows.end(), 0);
  Trace out = select_rows(changed, rows);
  const auto note = [&](const char* name, const Fraction& by) {
    if (by != Fraction{}) out.provenance.options.push_back(std::string(name) + "=" + text_of(by));
  };
  note("rate_scale", scaling.rate);
  note("input_scale", scaling.input);
  note("output_scale", scaling.output);
  renew_warnings(trace, out);
  return out;
}

}  // namespace kvplan::traces
