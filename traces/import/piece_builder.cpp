#include "traces/import/piece_builder.h"

#include <algorithm>

#include "simulator/base/units.h"
#include "traces/record/oddities.h"

namespace kvplan::traces {
namespace {

/// An optional column is created when its first value comes; the rows before it get -1.
template <class T>
void put_optional(std::vector<T>& column, std::size_t row, T value) {
  if (column.empty() && value == T{-1}) return;
  column.resize(row, T{-1});
  column.push_back(value);
}

}  // namespace

void PieceBuilder::begin(Trace& piece) {
  piece_ = &piece;
  name_bytes_ = 0;
  optional_ = false;
  clear_columns(piece);
  piece.prefix.block_tokens = block_tokens_;
  piece.arrival_ns.reserve(kPieceRequests);
  piece.input_tokens.reserve(kPieceRequests);
  piece.output_tokens.reserve(kPieceRequests);
  if (block_tokens_ > 0) piece.prefix.offsets.push_back(0);
}

bool PieceBuilder::refuse_hashes(const Row& row) {
  const auto count = static_cast<std::int64_t>(row.hashes.size());
  if (count > kMaxIdsPerRequest) {
    problem_ = {"hashes", std::to_string(count) + " ids in one request; at most " +
                              std::to_string(kMaxIdsPerRequest) + " are read"};
    return false;
  }
  const std::int64_t most = (row.input_tokens + block_tokens_ - 1) / block_tokens_;
  problem_ = {"hashes", std::to_string(count) + " ids for a prompt of " + std::to_string(row.input_tokens) +
                            " tokens; expected at most " + std::to_string(most) + " with blocks of " +
                            std::to_string(block_tokens_) + " tokens (--block changes the block size)"};
  return false;
}

inline bool PieceBuilder::add_hashes(const Row& row) {
  const auto count = static_cast<std::int64_t>(row.hashes.size());
  const std::int64_t covered = count * block_tokens_;  // counts the last block as if it were full
  if (count > kMaxIdsPerRequest || (covered - block_tokens_ >= row.input_tokens && count > 0))
    return refuse_hashes(row);
  if (covered + block_tokens_ <= row.input_tokens) {
    ++(count == 0 ? without_hashes_ : covered_less_);
  } else if (covered != row.input_tokens && row.has_hashes) {
    ++(covered > row.input_tokens ? covered_by_ceiling_ : covered_by_floor_);
  }
  std::uint32_t before = IdInterner::kNoId;
  for (std::uint64_t source_id : row.hashes) {
    if (traits_.content_ids) {
      // 32 bits each: the chain so far (0 = none, so one is added) and the content.
      const std::uint64_t content = contents_.intern(source_id, IdInterner::kNoId);
      source_id = (std::uint64_t{before + 1} << 32) | content;
    }
    before = ids_.intern(source_id, before);
    if (before == IdInterner::kNoId) {
      problem_ = {"hashes", "more than 4294967295 distinct ids"};
      return false;
    }
    piece_->prefix.ids.push_back(before);
  }
  piece_->prefix.offsets.push_back(piece_->prefix.ids.size());
  return true;
}

inline void PieceBuilder::count_oddities(const Row& row) {
  ++rows_;
  const std::int32_t session_number = row.session.empty() ? -1 : piece_->session.back();
  const bool comparable = !traits_.clock_per_session || session_number == last_session_;
  if (comparable && row.arrival_ns < last_arrival_ns_) ++out_of_order_;
  last_arrival_ns_ = row.arrival_ns;
  last_session_ = session_number;
  if (row.input_tokens == 0) ++zero_input_;
  if (row.output_tokens == 0) ++zero_output_;
  if (session_number >= 0 && !traits_.whole_prompts) {
    const auto session = static_cast<std::size_t>(session_number);
    if (session >= last_input_.size()) last_input_.resize(session + 1, 0);
    if (row.input_tokens < last_input_[session]) ++shrinking_sessions_;
    last_input_[session] = row.input_tokens;
  }
}

bool PieceBuilder::add(const Row& row) {
  const std::size_t position = piece_->arrival_ns.size();
  if (block_tokens_ > 0 && !add_hashes(row)) return false;
  if (!row.session.empty() || !piece_->session.empty()) {
    piece_->session.resize(position, -1);
    if (!add_name(row.session, "session", sessions_, piece_->session, piece_->session_names)) return false;
  }
  if (!row.tenant.empty() || !piece_->tenant.empty()) {
    piece_->tenant.resize(position, -1);
    if (!add_name(row.tenant, "tenant", tenants_, piece_->tenant, piece_->tenant_names)) return false;
  }
  const std::int32_t session = row.session.empty() ? -1 : piece_->session.back();
  const bool may_wait = !row.after.empty() || !row.awaited_by.empty() || (traits_.turns_wait && session >= 0);
  if (may_wait && !add_waits(row, session)) return false;
  if (rows_ >= most_with_waits_ && !piece_->waits.empty()) {
    problem_ = {"after", "a trace with waits has at most " + std::to_string(most_with_waits_) + " requests"};
    return false;
  }
  optional_ = optional_ || (row.max_tokens & row.priority & row.ttft_ns & row.e2e_ns & row.think_ns) !=
                               -1;  // any is not -1
  if (optional_) {
    put_optional(piece_->max_tokens, position, row.max_tokens);
    put_optional(piece_->priority, position, row.priority);
    put_optional(piece_->ttft_ns, position, row.ttft_ns);
    put_optional(piece_->e2e_ns, position, row.e2e_ns);
    put_optional(piece_->think_ns, position, row.think_ns);
  }
  piece_->arrival_ns.push_back(row.arrival_ns);
  piece_->input_tokens.push_back(row.input_tokens);
  piece_->output_tokens.push_back(row.output_tokens);
  count_oddities(row);
  return true;
}

bool PieceBuilder::add_waits(const Row& row, std::int32_t session) {
  const auto put = [this](std::int64_t request, std::int64_t before) {
    piece_->waits.request.push_back(static_cast<std::int32_t>(request));
    piece_->waits.before.push_back(static_cast<std::int32_t>(before));
  };
  const std::size_t count = row.after.size() + row.awaited_by.size();
  if (count > kMaxWaitsPerRequest) {
    problem_ = {"after", std::to_string(count) + " waits at one request; at most " +
                             std::to_string(kMaxWaitsPerRequest) + " are read"};
    return false;
  }
  const auto each_once = [](std::vector<std::int64_t>& positions, auto&& take) {
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    for (const std::int64_t position : positions) take(position);
  };
  waits_ = row.awaited_by;
  each_once(waits_, [&](std::int64_t waiting) { put(waiting, rows_); });
  waits_ = row.after;
  if (session >= 0 && traits_.turns_wait) {
    const auto s = static_cast<std::size_t>(session);
    if (s >= last_row_.size()) last_row_.resize(s + 1, -1);
    if (!row.states_after && last_row_[s] >= 0) waits_.push_back(last_row_[s]);
    last_row_[s] = rows_;
  }
  each_once(waits_, [&](std::int64_t before) { put(rows_, before); });
  return true;
}

bool PieceBuilder::add_name(std::string_view name, std::string_view field, NameInterner& numbers,
                            std::vector<std::int32_t>& column, std::vector<std::string>& fresh) {
  if (name.empty()) {
    column.push_back(-1);
    return true;
  }
  if (static_cast<std::int64_t>(name.size()) > kMaxNameBytes) {
    problem_ = {field, "expected a name of at most " + std::to_string(kMaxNameBytes) + " bytes, found " +
                           std::to_string(name.size())};
    return false;
  }
  bool added = false;
  column.push_back(numbers.intern(name, added));
  if (added) {
    fresh.emplace_back(name);
    name_bytes_ += static_cast<std::int64_t>(name.size()) + 8;
  }
  return true;
}

void PieceBuilder::finish(StreamSummary& summary) const {
  summary.distinct = ids_.distinct();
  // Without an incomplete last block both readings fit; the ceiling allows more, so it is chosen.
  summary.last_may_be_partial = covered_by_ceiling_ > 0 || covered_by_floor_ == 0;
  std::vector<std::string>& warnings = summary.provenance.warnings;
  Oddities oddities;
  oddities.rows = rows_;
  oddities.out_of_order = out_of_order_;
  oddities.zero_input = zero_input_;
  oddities.zero_output = zero_output_;
  oddities.shrinking = shrinking_sessions_;
  oddities.without_hashes = without_hashes_;
  oddities.covered_less = covered_less_;
  oddities.block_tokens = block_tokens_;
  for (std::string& sentence : oddities.sentences())
    if (!sentence.empty()) warnings.push_back(std::move(sentence));
  if (block_tokens_ == 0) return;
  if (covered_by_ceiling_ > 0 && covered_by_floor_ > 0)
    warnings.push_back("The partly filled last block has an id in " + std::to_string(covered_by_ceiling_) +
                       " requests and no id in " + std::to_string(covered_by_floor_) + ".");
  if (ids_.broken_chains() > 0)
    warnings.push_back(std::to_string(ids_.broken_chains()) +
                       " prefix ids follow a different id than at their first appearance. The ids are not "
                       "prefix-chained, so prefix hits are not exact.");
}

}  // namespace kvplan::traces
