#include <limits>

#include "traces/edit/edits.h"
#include "traces/record/digest.h"
#include "traces/record/memory_stream.h"
#include "traces/record/turns.h"

namespace kvplan::traces {
namespace {

constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();

template <class T>
void pick(const std::vector<T>& from, std::span<const std::int64_t> rows, std::vector<T>& to) {
  if (from.empty()) return;
  to.reserve(rows.size());
  for (const std::int64_t row : rows) to.push_back(from[static_cast<std::size_t>(row)]);
}

/// Numbers the entries of a column by first appearance, together with their names; -1 stays.
void renumber(std::vector<std::int32_t>& column, const std::vector<std::string>& names,
              std::vector<std::string>& kept) {
  std::vector<std::int32_t> numbers(names.size(), -1);
  for (std::int32_t& value : column) {
    if (value < 0) continue;
    std::int32_t& number = numbers[static_cast<std::size_t>(value)];
    if (number < 0) {
      number = static_cast<std::int32_t>(kept.size());
      kept.push_back(names[static_cast<std::size_t>(value)]);
    }
    value = number;
  }
}

void pick_ids(const PrefixHashes& from, std::span<const std::int64_t> rows, PrefixHashes& to) {
  to.block_tokens = from.block_tokens;
  to.last_may_be_partial = from.last_may_be_partial;
  if (!from.present()) return;
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(from.distinct), kUnseen);
  to.offsets.reserve(rows.size() + 1);
  to.offsets.push_back(0);
  for (const std::int64_t row : rows) {
    const auto at = static_cast<std::size_t>(row);
    for (std::uint64_t i = from.offsets[at]; i < from.offsets[at + 1]; ++i) {
      std::uint32_t& number = numbers[from.ids[i]];
      if (number == kUnseen) number = static_cast<std::uint32_t>(to.distinct++);
      to.ids.push_back(number);
    }
    to.offsets.push_back(to.ids.size());
  }
}

/// Copies the waits between requests that are both kept.
void pick_waits(const Trace& trace, std::span<const std::int64_t> rows, Waits& to) {
  if (trace.waits.empty()) return;
  std::vector<std::int32_t> place(trace.arrival_ns.size(), -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    place[static_cast<std::size_t>(rows[i])] = static_cast<std::int32_t>(i);
  for (std::size_t k = 0; k < trace.waits.size(); ++k) {
    const std::int32_t request = place[static_cast<std::size_t>(trace.waits.request[k])];
    const std::int32_t before = place[static_cast<std::size_t>(trace.waits.before[k])];
    if (request < 0 || before < 0) continue;
    to.request.push_back(request);
    to.before.push_back(before);
  }
  sort_waits(to);
}

}  // namespace

Trace select_rows(const Trace& trace, std::span<const std::int64_t> rows) {
  Trace out;
  pick(trace.arrival_ns, rows, out.arrival_ns);
  pick(trace.input_tokens, rows, out.input_tokens);
  pick(trace.output_tokens, rows, out.output_tokens);
  pick(trace.session, rows, out.session);
  pick(trace.tenant, rows, out.tenant);
  pick(trace.max_tokens, rows, out.max_tokens);
  pick(trace.priority, rows, out.priority);
  pick(trace.ttft_ns, rows, out.ttft_ns);
  pick(trace.e2e_ns, rows, out.e2e_ns);
  pick(trace.think_ns, rows, out.think_ns);
  pick_waits(trace, rows, out.waits);
  renumber(out.session, trace.session_names, out.session_names);
  renumber(out.tenant, trace.tenant_names, out.tenant_names);
  pick_ids(trace.prefix, rows, out.prefix);
  out.shares_clock = trace.shares_clock;
  out.provenance = trace.provenance;
  TraceDigest digest;
  digest.add(out);
  out.digest = digest.finish(MemoryStream(out).summary());
  return out;
}

}  // namespace kvplan::traces
