#include "simulator/observe/holders.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/core/table_bytes.h"

namespace kvplan::observe {
namespace {

constexpr std::array<std::string_view, 8> kKindNames{"block",  "state",  "range", "table",
                                                     "copied", "cached", "idle",  "padding"};

std::size_t place(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Holders::Holders(const core::Workload& workload, const Ledger& ledger, const core::KeepRule& keep,
                 SimTime moment)
    : workload_(workload),
      ledger_(ledger),
      layout_(ledger.layout()),
      keep_(keep),
      moment_(moment),
      groups_(layout_.groups),
      ledger_bytes_(ledger.bytes()) {
  KVPLAN_CHECK(layout_.block_ids());
  if (groups_.empty()) groups_ = {{.layers = layout_.cells_per_token}};
  pool_.free = layout_.alloc_units;
}

// ---- calls of the engine ----

void Holders::on_admit(const core::Admission& a) {
  Table& t = at(a.request);
  t.ids.assign(a.hits.begin(), a.hits.end());
  t.alloc_units = static_cast<std::int64_t>(a.hits.size());
  t.written = a.hit_tokens;
  running_.push_back(a.request);
  if (t.num_tokens == 0) t.num_tokens = workload_.input[index(a.request)];
}

void Holders::on_course(RequestId /*request*/, const core::Course& /*course*/) {
  courses_ = true;
}

void Holders::on_grant(const core::Grant& g) {
  Table& t = at(g.request);
  t.alloc_units = g.first_block + g.alloc_units;
  t.tensor_tokens = g.tensor_tokens;
  if (layout_.returns_alloc_units()) {
    for (const BlockId b : g.blocks) fresh(t, b);
  } else if (t.ids.empty()) {
    t.ids.assign(g.blocks.begin(), g.blocks.end());
  }
}

void Holders::on_decode_grants(std::span<const core::DecodeGrant> grants) {
  for (const core::DecodeGrant& g : grants) {
    fresh(at(g.request), g.block);
    ++at(g.request).alloc_units;
  }
}

void Holders::on_free_blocks(const core::FreedBlocks& gone) {
  for (const std::int32_t entry : gone.entries) at(gone.request).ids[place(entry)] = kNoBlock;
}

void Holders::fresh(Table& table, BlockId block) {
  table.ids.push_back(block);
  written_[block] = 0;
}

void Holders::on_move(const core::Move& move) {
  Table& t = at(move.range.request);
  t.ids = {core::entry_of_amount(move.range.to)};
  t.alloc_units = move.range.slots;
  if (!move.range.slides) copies_[move.range.request] = {move.range.from, move.range.from_slots, move.copied};
}

void Holders::on_copies_end(SimTime time, std::span<const core::Move> /*copies*/,
                            const core::PoolCounts& /*pool*/) {
  take_before(time);
  copies_.clear();
}

void Holders::on_step_end(SimTime time, std::span<const RequestId> /*finishing*/) {
  take_before(time);
  for (const RequestId r : running_)
    if (!held_back_.contains(r)) write(r, at(r).whole ? 1 : std::exchange(at(r).tokens_in_step, 0));
}

void Holders::write(RequestId r, std::int64_t tokens) {
  Table& t = at(r);
  for (std::int64_t n = 0; n < tokens; ++n, ++t.written) {
    if (!layout_.returns_alloc_units() || courses_) continue;
    const auto groups = static_cast<std::int64_t>(groups_.size());
    for (std::int64_t g = 0; g < groups; ++g) {
      const BlockId block = t.ids[place(t.written / layout_.alloc_unit_tokens * groups + g)];
      written_.at(block) = std::max(written_.at(block), t.written % layout_.alloc_unit_tokens + 1);
    }
  }
  if (tokens == 0 || t.written < t.num_tokens) return;
  t.whole = true;  // and a token was sampled from it
  ++t.num_tokens;
  if (t.written < workload_.final_tokens(r) && keep_.evicts() && t.written > keep_.sink + keep_.recent)
    t.dropped_to = t.written - keep_.recent;
}

void Holders::on_compact(const core::Compacted& compacted) {
  Table& t = at(compacted.request);
  t.alloc_units = compacted.moved.alloc_units;
  t.ids.resize(place(t.alloc_units));
}

void Holders::leave(RequestId request) {
  Table& t = at(request);
  running_.erase(std::find(running_.begin(), running_.end(), request));
  const std::int64_t num_tokens = t.num_tokens;
  t = {};
  t.num_tokens = num_tokens;
}

/// A state is written with the first tokens, and fills the same slots of its block from then on.
void Holders::take_states(RequestId request, const Table& t) {
  const model::StateBlocks& states = layout_.states;
  const std::int64_t cells = states.layers * states.slots;
  HeldRow row{HeldRow::Kind::kState, id_at<BlockId>(number(request)), states.blocks, -1, {request}, {}};
  put_cells(row.bytes, t.written > 0 ? State::kLive : State::kReserved, cells);
  put_cells(row.bytes, State::kPadding,
            states.blocks * layout_.alloc_unit_tokens * layout_.cells_per_token - cells);
  add(std::move(row));
}

void Holders::on_insert(RequestId /*request*/, std::int64_t logical_block, BlockId block) {
  found_[block] = layout_.groups.empty() ? -1 : logical_block % std::ssize(groups_);
}
void Holders::on_evict_block(BlockId block) {
  found_.erase(block);
}

void Holders::on_pass_end(const core::Pass& pass) {
  settle(pass.time, pass.pool);
}
void Holders::on_settled(SimTime time, const core::PoolCounts& pool) {
  settle(time, pool);
}
void Holders::on_end(SimTime /*time*/) {
  if (!taken_) take();
}

void Holders::settle(SimTime time, const core::PoolCounts& pool) {
  if (taken_) return;
  settled_at_ = time;
  pool_ = pool;
  ledger_bytes_ = ledger_.bytes();
  course_bytes_.clear();
  if (!courses_) return;
  shared_ = ledger_.shared_bytes();
  for (const RequestId r : running_) course_bytes_[r] = ledger_.course_bytes(r);
}

/// The table is taken before events at `time` if the requested moment is earlier.
void Holders::take_before(SimTime time) {
  if (!taken_ && time > moment_) take();
}

// ---- the table ----

/// `window`: window of a group of layers; 0: no window.
bool Holders::keeps(const Table& t, std::int64_t window, std::int64_t position) const {
  if (window > 0) return position < t.written && position > t.written - window;
  return position < t.written && (position < keep_.sink || position >= t.dropped_to);
}

std::int64_t Holders::kept(const Table& t) const {
  return t.written - std::max<std::int64_t>(t.dropped_to - keep_.sink, 0);
}

void Holders::put_cells(StateCounts& bytes, State state, std::int64_t cells) const {
  bytes[index(state)] += cells * layout_.cell_bytes();
  if (state != State::kLive) return;
  bytes[index(State::kMetadata)] += cells * layout_.metadata_bytes;
  bytes[index(State::kLive)] -= cells * layout_.metadata_bytes;
}

void Holders::add(HeldRow row) {
  rows_.push_back(std::move(row));
}

void Holders::take() {
  taken_ = true;
  if (layout_.returns_alloc_units() && !courses_) {
    take_blocks();
  } else {
    take_shared();
    for (const RequestId r : running_)
      if (at(r).alloc_units > 0) courses_ ? take_course(r, at(r)) : take_alone(r, at(r));
  }
  for (const auto& [r, copy] : copies_) {
    HeldRow row{HeldRow::Kind::kCopied, core::entry_of_amount(copy.from), copy.slots, -1, {r}, {}};
    put_tokens(row.bytes, State::kLive, copy.copied);
    put_tokens(row.bytes, State::kInternal, copy.slots - copy.copied);
    add(std::move(row));
  }
  HeldRow idle{HeldRow::Kind::kIdle, kNoBlock, pool_.free, -1, {}, {}};
  const State why = ledger_bytes_[index(State::kStranded)] > 0 ? State::kStranded : State::kFree;
  idle.bytes[index(why)] = pool_.free * layout_.alloc_unit_bytes();
  if (pool_.free > 0) add(std::move(idle));
  HeldRow padding{HeldRow::Kind::kPadding, kNoBlock, layout_.null_block ? 1 : 0, -1, {}, {}};
  padding.bytes[index(State::kPadding)] = layout_.padding_bytes();
  if (layout_.padding_bytes() > 0) add(std::move(padding));
  std::sort(rows_.begin(), rows_.end(), [](const HeldRow& a, const HeldRow& b) {
    return std::tuple(a.kind, a.id) < std::tuple(b.kind, b.id);
  });
  StateCounts sum{};
  for (const HeldRow& row : rows_)
    for (std::size_t s = 0; s < kStates; ++s) sum[s] += row.bytes[s];
  for (std::size_t s = 0; s < kStates; ++s)
    KVPLAN_CHECK(sum[s] == ledger_bytes_[s], static_cast<std::int64_t>(s), sum[s], ledger_bytes_[s]);
}

void Holders::take_blocks() {
  struct Holding {
    RequestId request;
    std::int64_t base;  ///< token of its first slot
  };
  struct Held {
    std::size_t group{0};
    std::vector<Holding> holdings;
  };
  std::map<BlockId, Held> held;
  for (const auto& [r, table] : tables_) {
    for (std::size_t entry = 0; entry < table.ids.size(); ++entry) {
      if (table.ids[entry] == kNoBlock) continue;
      Held& h = held[table.ids[entry]];
      h.group = entry % groups_.size();
      h.holdings.push_back(
          {r, static_cast<std::int64_t>(entry / groups_.size()) * layout_.alloc_unit_tokens});
    }
  }
  for (const auto& entry : held) {
    const BlockId block = entry.first;
    const Held& h = entry.second;
    const auto& [layers, window] = groups_[h.group];
    const std::int64_t group = layout_.groups.empty() ? -1 : static_cast<std::int64_t>(h.group);
    HeldRow row{HeldRow::Kind::kBlock, block, 1, group, {}, {}};
    for (const Holding& holding : h.holdings) row.holders.push_back(holding.request);
    std::int64_t never = 0;
    for (std::int64_t i = 0; i < layout_.alloc_unit_tokens; ++i) {
      const auto any = [&](auto says) { return std::any_of(h.holdings.begin(), h.holdings.end(), says); };
      const bool is_kept =
          any([&, w = window](const Holding& x) { return keeps(at(x.request), w, x.base + i); });
      const bool will_be =
          any([&](const Holding& x) { return x.base + i < workload_.final_tokens(x.request); });
      if (i < written_.at(block)) {
        put_cells(row.bytes, is_kept ? State::kLive : State::kHole, layers);
      } else if (will_be) {
        put_cells(row.bytes, State::kReserved, layers);
      } else {
        ++never;
      }
    }
    put_cells(row.bytes, never < layout_.alloc_unit_tokens ? State::kTail : State::kInternal, never * layers);
    put_cells(row.bytes, State::kPadding, (layout_.cells_per_token - layers) * layout_.alloc_unit_tokens);
    add(std::move(row));
  }
  if (layout_.states.blocks > 0)
    for (const RequestId r : running_) take_states(r, at(r));
  for (const auto& [block, group] : found_) {
    if (held.count(block) == 0) take_cached(block, group);
  }
}

void Holders::take_cached(BlockId block, std::int64_t group) {
  HeldRow row{HeldRow::Kind::kCached, block, 1, group, {}, {}};
  row.bytes[index(State::kCached)] = layout_.alloc_unit_bytes();
  add(std::move(row));
}

/// Adds the memory of a request that shares none of it.
void Holders::take_alone(RequestId r, const Table& t) {
  const bool tokens = layout_.of_tokens();
  HeldRow row{
      tokens ? HeldRow::Kind::kRange : HeldRow::Kind::kTable, t.ids.front(), t.alloc_units, -1, {r}, {}};
  const std::int64_t final_tokens = workload_.final_tokens(r);
  // Tokens that a copy will bring are still to be written.
  const std::int64_t written = copies_.count(r) != 0 ? 0 : t.written;
  const std::int64_t live = written == 0 ? 0 : kept(t);
  put_tokens(row.bytes, State::kLive, live);
  put_tokens(row.bytes, State::kHole, written - live);
  if (tokens) {
    const std::int64_t reach = std::max(std::min(final_tokens, t.alloc_units), written);
    put_tokens(row.bytes, State::kReserved, reach - written);
    put_tokens(row.bytes, State::kInternal, t.alloc_units - reach);
  } else {
    const core::TableBytes bytes = core::table_bytes(layout_, final_tokens, t.alloc_units, t.tensor_tokens);
    row.bytes[index(State::kReserved)] += bytes.reserved - written * layout_.token_bytes;
    row.bytes[index(State::kTail)] += bytes.tail;
    row.bytes[index(State::kInternal)] += bytes.internal;
    row.bytes[index(State::kPadding)] += bytes.padding;
  }
  add(std::move(row));
}

/// If requests follow courses: adds shared blocks, and blocks that no request holds but a lookup finds.
void Holders::take_shared() {
  std::set<BlockId> held;
  for (const RequestId r : running_) held.insert(at(r).ids.begin(), at(r).ids.end());
  for (const auto& [block, holders, bytes] : shared_)
    add({HeldRow::Kind::kBlock, block, 1, -1, holders, bytes});
  for (const auto& [block, group] : found_)
    if (!held.contains(block)) take_cached(block, group);
}

void Holders::take_course(RequestId r, const Table& t) {
  const auto is_shared = [&](BlockId block) {  // rows are ordered by block
    const auto row = std::ranges::lower_bound(shared_, block, {}, &Ledger::SharedBytes::block);
    return row != shared_.end() && row->block == block;
  };
  HeldRow row{layout_.returns_alloc_units() ? HeldRow::Kind::kTable : HeldRow::Kind::kRange,
              kNoBlock,
              0,
              -1,
              {r},
              {}};
  for (const BlockId block : t.ids) {
    if (block == kNoBlock || is_shared(block)) continue;
    if (row.id == kNoBlock) row.id = block;
    ++row.alloc_units;
  }
  if (!layout_.returns_alloc_units()) row.alloc_units = t.alloc_units;
  row.bytes = course_bytes_.at(r);
  if (row.alloc_units > 0) add(std::move(row));
}

std::string Holders::csv_header() {
  std::string out = "replica,time_ns,kind,group,id,quanta,holders";
  for (const std::string_view name : kStateNames) out.append(",").append(name);
  return out += '\n';
}

std::string Holders::csv(std::int64_t replica) const {
  std::string out;
  for (const HeldRow& row : rows_) {
    (out += std::to_string(replica)) += ',';
    out += std::to_string(ns_floor(settled_at_.since_start));
    out.append(",").append(kKindNames[static_cast<std::size_t>(row.kind)]).append(",");
    if (row.group >= 0) out += std::to_string(row.group);
    out += ',';
    if (row.id != kNoBlock) out += std::to_string(number(row.id));
    (out += ',') += std::to_string(row.alloc_units);
    out += ',';
    for (std::size_t i = 0; i < row.holders.size(); ++i)
      (out += i == 0 ? "" : " ") += std::to_string(number(row.holders[i]));
    for (const std::int64_t bytes : row.bytes) (out += ',') += std::to_string(bytes);
    out += '\n';
  }
  return out;
}

}  // namespace kvplan::observe
