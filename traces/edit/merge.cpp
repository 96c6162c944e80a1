#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "traces/edit/edits.h"
#include "traces/edit/remarks.h"
#include "traces/record/oddities.h"

namespace kvplan::traces {
namespace {

/// Joins all traces, one after the other, each with arrivals from 0 on; ids, sessions and tenants get new numbers.
class Joining {
 public:
  Joining(std::span<const Trace* const> traces, std::span<const std::string> files)
      : traces_(traces), files_(files) {}

  Result<Trace> join() {
    for (std::size_t k = 0; k < traces_.size(); ++k) {
      const Trace& trace = *traces_[k];
      if (!trace.shares_clock)
        return bad_input("traces have no common clock, so the order of arrivals is unknown")
            .at_file(name_of(k));
      if (!trace.prefix.present()) continue;
      std::int64_t& block = out_.prefix.block_tokens;
      if (block != 0 && block != trace.prefix.block_tokens)
        return bad_input("its prefix ids cover " + std::to_string(trace.prefix.block_tokens) +
                         " tokens, those of the earlier traces " + std::to_string(block) +
                         ": expected the same number in all traces")
            .at_file(name_of(k));
      block = trace.prefix.block_tokens;
      sharing_floor_only_ = sharing_floor_only_ && !trace.prefix.last_may_be_partial;
    }
    out_.prefix.last_may_be_partial = !out_.prefix.present() || !sharing_floor_only_;
    if (out_.prefix.present()) out_.prefix.offsets.push_back(0);
    for (std::size_t k = 0; k < traces_.size(); ++k) append(*traces_[k], k);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string name_of(std::size_t k) const {
    return k < files_.size() ? files_[k] : "trace " + std::to_string(k + 1);
  }

  template <class T>
  void append_optional(std::vector<T>& to, const std::vector<T>& from, std::size_t rows) {
    if (to.empty() && from.empty()) return;
    to.resize(out_.arrival_ns.size(), T{-1});
    to.insert(to.end(), from.begin(), from.end());
    to.resize(out_.arrival_ns.size() + rows, T{-1});
  }

  void append(const Trace& trace, std::size_t k) {
    const std::size_t rows = trace.arrival_ns.size();
    append_optional(out_.max_tokens, trace.max_tokens, rows);
    append_optional(out_.priority, trace.priority, rows);
    append_optional(out_.ttft_ns, trace.ttft_ns, rows);
    append_optional(out_.e2e_ns, trace.e2e_ns, rows);
    append_optional(out_.think_ns, trace.think_ns, rows);
    const auto shift = static_cast<std::int32_t>(out_.arrival_ns.size());
    for (const std::int32_t request : trace.waits.request) out_.waits.request.push_back(request + shift);
    for (const std::int32_t before : trace.waits.before) out_.waits.before.push_back(before + shift);
    append_names(trace, k);
    append_ids(trace.prefix, rows);
    const auto first = std::min_element(trace.arrival_ns.begin(), trace.arrival_ns.end());
    for (const std::int64_t arrival : trace.arrival_ns) out_.arrival_ns.push_back(arrival - *first);
    out_.input_tokens.insert(out_.input_tokens.end(), trace.input_tokens.begin(), trace.input_tokens.end());
    out_.output_tokens.insert(out_.output_tokens.end(), trace.output_tokens.begin(),
                              trace.output_tokens.end());
    for (const std::string& source : trace.provenance.sources) out_.provenance.sources.push_back(source);
    for (const std::string& warning : lasting_warnings(trace))
      out_.provenance.warnings.push_back("Trace " + std::to_string(k + 1) + ": " + warning);
  }

  void append_names(const Trace& trace, std::size_t k) {
    const std::size_t rows = trace.arrival_ns.size();
    std::vector<std::int32_t> sessions = trace.session;
    for (std::int32_t& session : sessions)
      if (session >= 0) session += static_cast<std::int32_t>(out_.session_names.size());
    append_optional(out_.session, sessions, rows);
    for (const std::string& name : trace.session_names)
      out_.session_names.push_back(std::to_string(k + 1) + ":" + name);
    std::vector<std::int32_t> tenants = trace.tenant;
    for (std::int32_t& tenant : tenants) {
      if (tenant < 0) continue;
      const std::string& name = trace.tenant_names[static_cast<std::size_t>(tenant)];
      const auto [at, is_new] = tenants_.emplace(name, static_cast<std::int32_t>(tenants_.size()));
      if (is_new) out_.tenant_names.push_back(name);
      tenant = at->second;
    }
    append_optional(out_.tenant, tenants, rows);
  }

  void append_ids(const PrefixHashes& from, std::size_t rows) {
    if (!out_.prefix.present()) return;
    const std::uint64_t before = out_.prefix.ids.size();
    const auto shift = static_cast<std::uint32_t>(out_.prefix.distinct);
    for (const std::uint32_t id : from.ids) out_.prefix.ids.push_back(id + shift);
    for (std::size_t row = 1; row <= rows; ++row)
      out_.prefix.offsets.push_back(from.present() ? before + from.offsets[row] : before);
    out_.prefix.distinct += from.distinct;
  }

  std::span<const Trace* const> traces_;
  std::span<const std::string> files_;
  Trace out_;
  bool sharing_floor_only_{true};
  std::unordered_map<std::string, std::int32_t> tenants_;
};

/// Turns with a shorter prompt than the turn before, if a warning of the trace names them; otherwise they are normal.
std::int64_t doubtful_turns(const Trace& trace) {
  Oddities of_turns;
  of_turns.shrinking = oddities_of(trace).shrinking;
  const std::vector<std::string>& said = trace.provenance.warnings;
  for (const std::string& sentence : of_turns.sentences())
    if (std::find(said.begin(), said.end(), sentence) != said.end()) return of_turns.shrinking;
  return 0;
}

}  // namespace

Result<Trace> merged(std::span<const Trace* const> traces, std::span<const std::string> files) {
  std::uint64_t distinct = 0;
  for (const Trace* trace : traces) distinct += static_cast<std::uint64_t>(trace->prefix.distinct);
  std::int64_t requests = 0;
  for (const Trace* trace : traces) requests += trace->size();
  if (requests > INT32_MAX) return bad_input("there would be more than 2147483647 requests");
  if (distinct > UINT32_MAX) return bad_input("there would be more than 4294967295 distinct prefix ids");
  KVPLAN_TRY(const Trace joined, Joining(traces, files).join());
  std::vector<std::int64_t> rows(joined.arrival_ns.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
    return joined.arrival_ns[static_cast<std::size_t>(a)] < joined.arrival_ns[static_cast<std::size_t>(b)];
  });
  Trace out = select_rows(joined, rows);
  out.provenance.format = "merge";
  // Warnings that can be counted are given for the merged trace, and no longer for its parts.
  Oddities oddities = oddities_of(out);
  oddities.shrinking = 0;
  for (const Trace* trace : traces) oddities.shrinking += doubtful_turns(*trace);
  for (std::string& sentence : oddities.sentences())
    if (!sentence.empty()) out.provenance.warnings.push_back(std::move(sentence));
  return out;
}

}  // namespace kvplan::traces
