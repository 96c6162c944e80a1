#include "traces/record/trace_stream.h"

#include "simulator/base/large_pages.h"
#include "traces/record/digest.h"

namespace kvplan::traces {
namespace {

/// A sixteenth more than the share suggests: rows differ in length, and reserved memory that is not used costs nothing.
std::size_t likely_size(std::size_t size, double share) {
  return share > 0 ? static_cast<std::size_t>(static_cast<double>(size) / share * 1.0625) : 0;
}

/// `share`: read fraction of the whole input after this piece; 0 if unknown.
template <class T>
void append(std::vector<T>& to, const std::vector<T>& from, double share = 0) {
  const std::size_t size = to.size() + from.size();
  make_room(to, size, likely_size(size, share));
  to.insert(to.end(), from.begin(), from.end());
}

/// An optional column that begins late, or has gaps, gets -1 (not stated) in the rows without a value.
template <class T>
void append_optional(std::vector<T>& to, const std::vector<T>& from, std::size_t rows_before,
                     std::size_t rows) {
  if (from.empty() && to.empty()) return;
  to.resize(rows_before, T{-1});
  append(to, from);
  to.resize(rows_before + rows, T{-1});
}

void append_piece(Trace& whole, const Trace& piece, double share) {
  const std::size_t before = whole.arrival_ns.size();
  const std::size_t rows = piece.arrival_ns.size();
  append(whole.arrival_ns, piece.arrival_ns, share);
  append(whole.input_tokens, piece.input_tokens, share);
  append(whole.output_tokens, piece.output_tokens, share);
  if (piece.prefix.present()) {
    const std::uint64_t base = whole.prefix.ids.size();
    append(whole.prefix.ids, piece.prefix.ids, share);
    make_room(whole.prefix.offsets, before + rows + 1, likely_size(before + rows + 1, share));
    if (whole.prefix.offsets.empty()) whole.prefix.offsets.push_back(0);
    const std::size_t first = whole.prefix.offsets.size();
    whole.prefix.offsets.insert(whole.prefix.offsets.end(), piece.prefix.offsets.begin() + 1,
                                piece.prefix.offsets.end());
    for (std::size_t i = first; i < whole.prefix.offsets.size(); ++i) whole.prefix.offsets[i] += base;
  }
  append_optional(whole.session, piece.session, before, rows);
  append_optional(whole.tenant, piece.tenant, before, rows);
  append_optional(whole.max_tokens, piece.max_tokens, before, rows);
  append_optional(whole.priority, piece.priority, before, rows);
  append_optional(whole.ttft_ns, piece.ttft_ns, before, rows);
  append_optional(whole.e2e_ns, piece.e2e_ns, before, rows);
  append_optional(whole.think_ns, piece.think_ns, before, rows);
  append(whole.waits.request, piece.waits.request);
  append(whole.waits.before, piece.waits.before);
  append(whole.session_names, piece.session_names);
  append(whole.tenant_names, piece.tenant_names);
}

}  // namespace

void clear_columns(Trace& piece) {
  piece.arrival_ns.clear();
  piece.input_tokens.clear();
  piece.output_tokens.clear();
  piece.prefix.offsets.clear();
  piece.prefix.ids.clear();
  piece.session.clear();
  piece.session_names.clear();
  piece.tenant.clear();
  piece.tenant_names.clear();
  piece.max_tokens.clear();
  piece.priority.clear();
  piece.ttft_ns.clear();
  piece.e2e_ns.clear();
  piece.think_ns.clear();
  piece.waits.request.clear();
  piece.waits.before.clear();
}

Result<Trace> collect(TraceStream& stream) {
  Trace whole;
  Trace piece;
  for (;;) {
    KVPLAN_TRY(const bool more, stream.next(piece));
    if (!more) break;
    if (whole.size() + piece.size() > INT32_MAX)
      return bad_input("more than 2147483647 requests: a trace in memory cannot hold them");
    append_piece(whole, piece, stream.share_read());
  }
  const StreamSummary& summary = stream.summary();
  whole.prefix.block_tokens = summary.block_tokens;
  whole.prefix.distinct = summary.distinct;
  whole.prefix.last_may_be_partial = summary.last_may_be_partial;
  if (whole.prefix.present() && whole.prefix.offsets.empty()) whole.prefix.offsets.push_back(0);
  whole.shares_clock = summary.shares_clock;
  whole.provenance = summary.provenance;
  whole.digest = summary.digest;  // a source with a digest has checked it
  if (whole.digest.empty()) {
    TraceDigest digest;
    digest.add(whole);
    whole.digest = digest.finish(summary);
  }
  return whole;
}

}  // namespace kvplan::traces
