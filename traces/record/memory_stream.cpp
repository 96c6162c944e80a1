#include "traces/record/memory_stream.h"

#include <algorithm>

namespace kvplan::traces {
namespace {

template <class T>
void cut(const std::vector<T>& from, std::size_t begin, std::size_t end, std::vector<T>& to) {
  if (from.empty()) return;
  to.assign(from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(end));
}

/// Appends the names of numbers in the piece that were not given before, up to the greatest number.
void cut_names(const std::vector<std::int32_t>& column, const std::vector<std::string>& names,
               std::size_t& given, std::vector<std::string>& to) {
  for (const std::int32_t number : column)
    while (number >= 0 && static_cast<std::size_t>(number) >= given) to.push_back(names[given++]);
}

}  // namespace

MemoryStream::MemoryStream(const Trace& trace) : trace_(trace) {
  summary_.block_tokens = trace.prefix.block_tokens;
  summary_.distinct = trace.prefix.distinct;
  summary_.last_may_be_partial = trace.prefix.last_may_be_partial;
  summary_.shares_clock = trace.shares_clock;
  summary_.provenance = trace.provenance;
}

Result<bool> MemoryStream::next(Trace& piece) {
  clear_columns(piece);
  piece.prefix.block_tokens = trace_.prefix.block_tokens;
  const std::size_t begin = next_row_;
  const auto size = static_cast<std::size_t>(trace_.size());
  std::size_t end = std::min(size, begin + static_cast<std::size_t>(kPieceRequests));
  const std::size_t many = next_wait_ + static_cast<std::size_t>(kPieceWaits);
  if (many < trace_.waits.size())
    end = std::max(begin + 1, std::min(end, static_cast<std::size_t>(trace_.waits.later(many))));
  if (trace_.prefix.present() && begin < size) {
    const auto& offsets = trace_.prefix.offsets;
    const std::uint64_t most = offsets[begin] + static_cast<std::uint64_t>(kPieceReferences);
    const auto last = std::lower_bound(offsets.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                                       offsets.begin() + static_cast<std::ptrdiff_t>(end), most);
    end = std::min(end, static_cast<std::size_t>(last - offsets.begin()));
    for (std::size_t i = begin; i <= end; ++i) piece.prefix.offsets.push_back(offsets[i] - offsets[begin]);
    cut(trace_.prefix.ids, offsets[begin], offsets[end], piece.prefix.ids);
  }
  next_row_ = end;
  cut(trace_.arrival_ns, begin, end, piece.arrival_ns);
  cut(trace_.input_tokens, begin, end, piece.input_tokens);
  cut(trace_.output_tokens, begin, end, piece.output_tokens);
  cut(trace_.session, begin, end, piece.session);
  cut(trace_.tenant, begin, end, piece.tenant);
  cut(trace_.max_tokens, begin, end, piece.max_tokens);
  cut(trace_.priority, begin, end, piece.priority);
  cut(trace_.ttft_ns, begin, end, piece.ttft_ns);
  cut(trace_.e2e_ns, begin, end, piece.e2e_ns);
  cut(trace_.think_ns, begin, end, piece.think_ns);
  const std::size_t first_wait = next_wait_;
  while (next_wait_ < trace_.waits.size() && static_cast<std::size_t>(trace_.waits.later(next_wait_)) < end)
    ++next_wait_;
  cut(trace_.waits.request, first_wait, next_wait_, piece.waits.request);
  cut(trace_.waits.before, first_wait, next_wait_, piece.waits.before);
  cut_names(piece.session, trace_.session_names, sessions_given_, piece.session_names);
  cut_names(piece.tenant, trace_.tenant_names, tenants_given_, piece.tenant_names);
  return begin < end;
}

}  // namespace kvplan::traces
