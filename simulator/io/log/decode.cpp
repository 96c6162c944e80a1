#include "simulator/io/log/decode.h"

#include <algorithm>

#include "simulator/io/log/rules_message.h"

namespace kvplan::event_log {
namespace {

namespace pb = ::kvplan::v1;

/// Remembers the first value that is out of range.
class Ranges {
 public:
  std::int64_t in(std::int64_t value, std::int64_t low, std::int64_t high, const char* field) {
    if ((value < low || value > high) && wrong_.field.empty()) {
      wrong_ = bad_input("expected " + std::to_string(low) + " to " + std::to_string(high) + ", found " +
                         std::to_string(value))
                   .at_field(field);
    }
    return value;
  }
  void refuse(std::string why, const char* field) {
    if (wrong_.field.empty()) wrong_ = bad_input(std::move(why)).at_field(field);
  }
  std::int64_t time(std::int64_t value, const char* field) { return in(value, 0, kMostTime, field); }
  std::int64_t tokens(std::int64_t value, const char* field) { return in(value, 0, kMostTokens, field); }
  RequestId request(std::int32_t value, const char* field) {
    return id_at<RequestId>(in(value, 0, INT32_MAX, field));
  }
  void no_more_than(std::int64_t most, std::int64_t count, const char* field) { in(count, 0, most, field); }
  template <class T>
  Result<T> give(T value) {
    if (!wrong_.field.empty()) return std::move(wrong_);
    return value;
  }

 private:
  Error wrong_{.message = {}, .file = {}, .field = {}};
};

Totals decode_totals(const google::protobuf::RepeatedField<std::int64_t>& m, const char* field,
                     Ranges& ranges) {
  Totals totals{};
  ranges.in(m.size(), kStates, kStates, field);
  std::copy_n(m.begin(), std::min<std::size_t>(static_cast<std::size_t>(m.size()), kStates), totals.begin());
  return totals;
}

Fact decode_counts(const pb::Counts& m, Ranges& ranges) {
  Counts out{ranges.request(m.request(), "counts.request"), {}};
  std::int64_t numbers = 0;
  for (const pb::AlikeTracks& alike : m.alike()) {
    numbers += 1 + alike.runs_size();
    ranges.in(alike.runs_size() % 2, 0, 0, "counts.alike.runs");
    for (int i = 0; i < alike.runs_size(); ++i)
      ranges.in(alike.runs(i), i % 2, INT32_MAX, "counts.alike.runs");
    out.alike.push_back(
        {static_cast<std::int32_t>(ranges.in(alike.tracks(), 1, kMostTracks, "counts.alike.tracks")),
         {alike.runs().begin(), alike.runs().end()}});
  }
  ranges.no_more_than(kMostListed, numbers, "counts.alike");
  return out;
}

Fact decode_memory(const pb::Fact& fact, Ranges& ranges) {
  switch (fact.kind_case()) {
    case pb::Fact::kPreempt:
      return Preempt{ranges.request(fact.preempt().request(), "preempt.request"),
                     ranges.tokens(fact.preempt().written(), "preempt.written")};
    case pb::Fact::kReclaim:
      return Reclaim{ranges.in(fact.reclaim().publication(), 0, kMostTime, "reclaim.publication"),
                     ranges.in(fact.reclaim().pages(), 0, kMostAllocUnits, "reclaim.pages")};
    case pb::Fact::kAdmit: {
      const auto& m = fact.admit();
      ranges.no_more_than(kMostListed, m.hit_keys_size(), "admit.hit_keys");
      ranges.in(m.hit_publications_size(), m.hit_keys_size(), m.hit_keys_size(), "admit.hit_publications");
      for (const std::int64_t p : m.hit_publications()) ranges.in(p, 0, kMostTime, "admit.hit_publications");
      return Admit{ranges.request(m.request(), "admit.request"),
                   {m.hit_publications().begin(), m.hit_publications().end()},
                   {m.hit_keys().begin(), m.hit_keys().end()},
                   ranges.in(m.found_pages(), 0, kMostAllocUnits, "admit.found_pages"),
                   ranges.in(m.found_blocks(), 0, kMostAllocUnits, "admit.found_blocks")};
    }
    case pb::Fact::kGrant: {
      const auto& m = fact.grant();
      ranges.no_more_than(kMostListed, m.shared_keys_size(), "grant.shared_keys");
      ranges.in(m.quanta(), std::max(1, m.shared_keys_size()), kMostAllocUnits, "grant.quanta");
      return Grant{ranges.request(m.request(), "grant.request"),
                   ranges.in(m.first_block(), 0, kMostAllocUnits, "grant.first_block"),
                   m.quanta(),
                   {m.shared_keys().begin(), m.shared_keys().end()},
                   ranges.tokens(m.tensor_tokens(), "grant.tensor_tokens"),
                   static_cast<std::int32_t>(ranges.in(m.first_table(), 0, kMostTracks, "grant.first_table")),
                   static_cast<std::int32_t>(ranges.in(m.tables(), 0, kMostTracks, "grant.tables"))};
    }
    case pb::Fact::kMove:
      return Move{ranges.request(fact.move().request(), "move.request"),
                  ranges.tokens(fact.move().copied(), "move.copied"),
                  ranges.in(fact.move().slots(), 1, kMostAllocUnits, "move.slots"), fact.move().slides()};
    case pb::Fact::kPublish:
      return Publish{ranges.request(fact.publish().request(), "publish.request"),
                     ranges.in(fact.publish().logical_block(), 0, kMostAllocUnits, "publish.logical_block"),
                     fact.publish().key()};
    case pb::Fact::kDrop: {
      const auto& m = fact.drop();
      return Drop{ranges.request(m.request(), "drop.request"), ranges.tokens(m.sink(), "drop.sink"),
                  ranges.tokens(m.begin(), "drop.begin"),
                  ranges.in(m.first_released(), 0, kMostAllocUnits, "drop.first_released"),
                  ranges.in(m.released(), 0, kMostAllocUnits, "drop.released")};
    }
    case pb::Fact::kCourse: {
      const auto& m = fact.course();
      ranges.no_more_than(kMostListed, m.drops_size(), "course.drops");
      for (const std::int32_t n : m.drops()) ranges.in(n, 0, INT32_MAX, "course.drops");
      return Course{ranges.request(m.request(), "course.request"), {m.drops().begin(), m.drops().end()}};
    }
    case pb::Fact::kLetGo: {
      const auto& m = fact.let_go();
      ranges.no_more_than(kMostListed, m.logical_blocks_size(), "let_go.logical_blocks");
      for (const std::int32_t b : m.logical_blocks()) ranges.in(b, 0, INT32_MAX, "let_go.logical_blocks");
      return LetGo{ranges.request(m.request(), "let_go.request"),
                   {m.logical_blocks().begin(), m.logical_blocks().end()}};
    }
    case pb::Fact::kPrefixIds: {
      const auto& m = fact.prefix_ids();
      ranges.no_more_than(kMostListed, m.ids_size(), "prefix_ids.ids");
      return PrefixIds{ranges.request(m.request(), "prefix_ids.request"), {m.ids().begin(), m.ids().end()}};
    }
    case pb::Fact::kSettle:
      return Settle{ranges.request(fact.settle().request(), "settle.request"),
                    ranges.tokens(fact.settle().tokens(), "settle.tokens")};
    case pb::Fact::kCounts:
      return decode_counts(fact.counts(), ranges);
    case pb::Fact::kCompact: {
      const auto& m = fact.compact();
      return Compact{
          ranges.request(m.request(), "compact.request"),
          ranges.tokens(m.slots(), "compact.slots"),
          ranges.in(m.cells(), 0, kMostTime, "compact.cells"),
          ranges.in(m.released(), 0, kMostAllocUnits, "compact.released"),
          static_cast<std::int32_t>(ranges.in(m.first_table(), 0, kMostTracks, "compact.first_table")),
          static_cast<std::int32_t>(ranges.in(m.tables(), 0, kMostTracks, "compact.tables"))};
    }
    default:
      ranges.refuse("expected an event of a known kind, found " + std::to_string(fact.kind_case()), "kind");
      return End{0};  // never returned: refuse() has recorded an error
  }
}

Fact decode_steps(const pb::StepRun& m, Ranges& ranges) {
  const StepRun run{ranges.time(m.time(), "steps.time"), ranges.time(m.first(), "steps.first"),
                    ranges.in(m.growth(), -kMostTime, kMostTime, "steps.growth"),
                    ranges.in(m.steps(), 1, kMostTokens, "steps.steps")};
  if (run.steps >= 1 && run.steps <= kMostTokens) {
    const bool fits = run.span() >= 0 && run.span() <= kMostTime &&
                      Wide{run.first} + Wide{run.growth} * (run.steps - 1) >= 0;
    ranges.in(fits ? 0 : run.growth, 0, 0, "steps.growth");
  }
  return run;
}

Fact decode_fact(const pb::Fact& fact, Ranges& ranges) {
  switch (fact.kind_case()) {
    case pb::Fact::kArrival: {
      const auto& m = fact.arrival();
      return Arrival{ranges.time(m.time(), "arrival.time"),
                     ranges.request(m.request(), "arrival.request"),
                     static_cast<std::int32_t>(ranges.in(m.input(), 0, INT32_MAX, "arrival.input")),
                     static_cast<std::int32_t>(ranges.in(m.output(), 0, INT32_MAX, "arrival.output")),
                     m.accepted(),
                     static_cast<std::int32_t>(ranges.in(m.prefix_ids(), 0, INT32_MAX, "arrival.prefix_ids")),
                     m.priority(),
                     static_cast<std::int32_t>(ranges.in(m.named(), 0, INT32_MAX, "arrival.named"))};
    }
    case pb::Fact::kPassBegin:
      return PassBegin{ranges.time(fact.pass_begin().time(), "pass_begin.time")};
    case pb::Fact::kChunk:
      return Chunk{ranges.request(fact.chunk().request(), "chunk.request"),
                   ranges.tokens(fact.chunk().computed(), "chunk.computed"),
                   ranges.in(fact.chunk().tokens(), 1, kMostTokens, "chunk.tokens")};
    case pb::Fact::kPassEnd:
      return PassEnd{fact.pass_end().refused()};
    case pb::Fact::kSteps:
      return decode_steps(fact.steps(), ranges);
    case pb::Fact::kStepEnd: {
      const auto& m = fact.step_end();
      std::vector<RequestId> finishing;
      for (const std::int32_t r : m.finishing()) finishing.push_back(ranges.request(r, "step_end.finishing"));
      return StepEnd{ranges.time(m.time(), "step_end.time"), std::move(finishing)};
    }
    case pb::Fact::kFirstToken:
      return FirstToken{ranges.request(fact.first_token().request(), "first_token.request")};
    case pb::Fact::kFinish:
      return Finish{ranges.request(fact.finish().request(), "finish.request"),
                    ranges.tokens(fact.finish().written(), "finish.written")};
    case pb::Fact::kSettled:
      return Settled{ranges.time(fact.settled().time(), "settled.time")};
    case pb::Fact::kEnd:
      return End{ranges.time(fact.end().time(), "end.time")};
    case pb::Fact::kTickEnd:
      return TickEnd{ranges.time(fact.tick_end().time(), "tick_end.time")};
    case pb::Fact::kFleetEnd:
      return FleetEnd{ranges.time(fact.fleet_end().time(), "fleet_end.time")};
    case pb::Fact::kHoldBack:
      return HoldBack{ranges.request(fact.hold_back().request(), "hold_back.request")};
    default:
      return decode_memory(fact, ranges);
  }
}

/// Checks the tracks that make up a token's place in the cache, for logs in which requests follow courses.
Status check_tracks(const Header& header, std::int64_t units) {
  if (units == 0 && !header.track_units.empty())
    return bad_input("expected a token group with KV slots on this rank").at_field("track_units");
  if (units == 0 && header.metadata_bytes > header.token_bytes)
    return bad_input("expected at most the " + std::to_string(header.token_bytes) +
                     " bytes of a token, found " + std::to_string(header.metadata_bytes))
        .at_field("metadata_bytes");
  if ((header.compacts && (units == 0 || !header.returns_alloc_units || header.reuse)) ||
      (header.counted && !header.compacts))
    return bad_input("expected retention schedules in blocks, without slot reuse, when compaction is on")
        .at_field("compacts");
  if (units == 0) return Done{};
  if (header.token_bytes % units != 0 || header.token_bytes / units < header.metadata_bytes)
    return bad_input("expected a multiple of the " + std::to_string(units) +
                     " KV slots of a token, each with room for its metadata; found " +
                     std::to_string(header.token_bytes))
        .at_field("token_bytes");
  if (header.prefix_cache && (!header.returns_alloc_units || header.reuse || header.compacts ||
                              header.tables > 1 || header.unnumbered))
    return bad_input(
               "expected no prefix cache with retention schedules, unless they leave holes in blocks of one "
               "table")
        .at_field("prefix_cache");
  return Done{};
}

/// Whether requests can have so many tables.
Status check_tables(const Header& header) {
  if (header.tables == 1) {
    if (header.entry_bytes == 0 && (!header.unnumbered || header.rules.prefills_apart)) return Done{};
    return bad_input("expected blocks with ids and no other memory when a request has one table")
        .at_field("tables");
  }
  const auto tracks = static_cast<std::int64_t>(header.track_units.size());
  bool alike = header.returns_alloc_units && tracks > 0 && tracks % header.tables == 0 &&
               header.token_bytes % header.tables == 0;
  for (std::int64_t t = header.tracks_of_table(); alike && t < tracks; ++t)
    alike = header.track_units[static_cast<std::size_t>(t)] ==
            header.track_units[static_cast<std::size_t>(t - header.tracks_of_table())];
  if (alike) return Done{};
  return bad_input(
             "expected retention schedules in blocks, and the same number of token groups in each of the " +
             std::to_string(header.tables) + " tables")
      .at_field("tables");
}

/// Checks that allocation units smaller than a token can be what the header says.
Status check_rows(const Header& header) {
  if (header.table_form == TableForm::kTokens) return Done{};
  if (header.alloc_unit_tokens != 1 || header.returns_alloc_units || header.prefix_cache ||
      !header.track_units.empty())
    return bad_input(
               "when memory is allocated in bytes, expected allocation units of 1 token that a request frees "
               "only when it ends, no prefix cache and no retention schedules")
        .at_field("table_form");
  if (header.table_form == TableForm::kNothing) {
    if (Wide{header.alloc_units} * header.odd_alloc_unit_bytes == header.capacity_bytes) return Done{};
    return bad_input("expected an allocation unit of the whole pool without a KV cache").at_field("quanta");
  }
  Wide bytes = 0;
  const std::int64_t tensors =
      header.table_form == TableForm::kPages ? header.odd_alloc_unit_bytes / header.page_bytes : 1;
  for (const TokenRow& row : header.rows) bytes += Wide{row.bytes} * row.alloc_units * tensors;
  if (bytes != header.token_bytes ||
      (header.table_form == TableForm::kPages && header.odd_alloc_unit_bytes % header.page_bytes != 0))
    return bad_input("expected tensor rows that add up to the bytes of a token, in whole pages")
        .at_field("rows");
  if (Wide{header.alloc_units} * header.odd_alloc_unit_bytes > header.capacity_bytes)
    return bad_input("expected room for all allocation units, found " +
                     std::to_string(header.capacity_bytes) + " bytes")
        .at_field("capacity_bytes");
  return Done{};
}

/// Checks that prefixes can be kept in a tree of pages.
Status check_tree(const Header& header) {
  if (header.tree && !header.rules.prefills_apart)
    return bad_input("expected a radix tree only when prefill batches are separate").at_field("tree");
  if (header.id_tokens > 0 && !header.tree)
    return bad_input("expected 0 without a radix tree, found " + std::to_string(header.id_tokens))
        .at_field("id_tokens");
  if (header.named_answers && header.id_tokens == 0)
    return bad_input("expected ids of prompts, which answers can have too").at_field("named_answers");
  return Done{};
}

/// Checks that the blocks of layer groups can be what the header says.
Status check_groups(const Header& header) {
  if (header.groups.empty() || header.prefix_cache || header.state_blocks == 0) {
    if (header.state_blocks > 0 || header.state_layers > 0 || header.state_slots > 0)
      return bad_input("expected layer groups, no prefix cache, and blocks for states where there are states")
          .at_field("state_blocks");
  } else if (header.state_slots == 0 || header.state_slots > header.alloc_unit_tokens) {
    return bad_input("expected a state that fills 1 to " + std::to_string(header.alloc_unit_tokens) +
                     " slots of a block, found " + std::to_string(header.state_slots))
        .at_field("state_slots");
  }
  if (header.groups.empty()) return Done{};
  if (header.table_form != TableForm::kTokens || !header.returns_alloc_units || !header.track_units.empty())
    return bad_input("expected blocks without retention schedules when layers form groups")
        .at_field("groups");
  const std::int64_t layers = header.block_layers();
  if (layers == 0) return bad_input("expected a group with layers").at_field("groups");
  if (header.token_bytes % layers != 0 || header.token_bytes / layers < header.metadata_bytes)
    return bad_input("expected a multiple of the " + std::to_string(layers) +
                     " layers of a block, each with room for its metadata; found " +
                     std::to_string(header.token_bytes))
        .at_field("token_bytes");
  return Done{};
}

/// Checks that this many tokens of a prompt can be computed, whatever prefix is found.
Status check_prompt_rows(const Header& header) {
  const bool found = !header.track_units.empty() && header.prefix_cache;
  if (found == (header.prompt_rows > 0)) return Done{};
  return bad_input(found ? "expected at least 1 when requests with retention schedules can hit prefixes"
                         : "expected 0 when no request with a retention schedule can hit prefixes")
      .at_field("prompt_rows");
}

}  // namespace

Result<Header> decode_header(const pb::EventLogHeader& m) {
  Ranges ranges;
  Header header;
  ranges.in(m.version(), 1, kVersion, "version");
  header.writer = m.writer();
  header.alloc_unit_tokens = ranges.in(m.quantum_tokens(), 1, kMostTokens, "quantum_tokens");
  header.token_bytes = ranges.in(m.token_bytes(), 1, kMostBytes, "token_bytes");
  header.capacity_bytes = ranges.in(m.capacity_bytes(), 1, kMostBytes, "capacity_bytes");
  header.alloc_units = ranges.in(m.quanta(), 1, kMostAllocUnits, "quanta");
  header.null_block = m.null_block();
  header.returns_alloc_units = m.returns_quanta();
  header.prefix_cache = m.prefix_cache();
  ranges.no_more_than(kMostTracks, m.track_units_size(), "track_units");
  std::int64_t units = 0;
  for (const std::int32_t u : m.track_units())
    units +=
        header.track_units.emplace_back(static_cast<std::int32_t>(ranges.in(u, 0, INT32_MAX, "track_units")));
  header.metadata_bytes = ranges.in(m.metadata_bytes(), 0, kMostBytes, "metadata_bytes");
  header.reuse = m.reuse();
  header.range_placement = static_cast<RangePlacement>(
      ranges.in(m.range_placement(), 0, static_cast<int>(RangePlacement::kBuddy), "range_placement"));
  header.table_form = static_cast<TableForm>(
      ranges.in(m.table_form(), 0, static_cast<int>(TableForm::kNothing), "table_form"));
  const bool odd = header.table_form != TableForm::kTokens;
  const bool rows = odd && header.table_form != TableForm::kNothing;
  const bool pages = header.table_form == TableForm::kPages;
  header.odd_alloc_unit_bytes =
      ranges.in(m.odd_quantum_bytes(), odd ? 1 : 0, odd ? kMostBytes : 0, "odd_quantum_bytes");
  header.page_bytes = ranges.in(m.page_bytes(), pages ? 1 : 0, pages ? kMostBytes : 0, "page_bytes");
  ranges.in(m.rows_size(), rows ? 1 : 0, rows ? kMostRows : 0, "rows");
  for (const pb::TokenRow& row : m.rows())
    header.rows.push_back({ranges.in(row.bytes(), 1, kMostRowBytes, "rows.bytes"),
                           ranges.in(row.quanta(), 1, kMostRows, "rows.quanta")});
  ranges.no_more_than(kMostLayers, m.groups_size(), "groups");
  for (const pb::LayerGroup& group : m.groups())
    header.groups.push_back({ranges.in(group.layers(), 0, kMostLayers, "groups.layers"),
                             ranges.in(group.window(), 0, kMostTokens, "groups.window")});
  header.state_blocks = ranges.in(m.state_blocks(), 0, kMostLayers, "state_blocks");
  header.state_layers = ranges.in(m.state_layers(), 0, kMostLayers, "state_layers");
  header.state_slots = ranges.in(m.state_slots(), 0, kMostTokens, "state_slots");
  header.compacts = m.compacts();
  header.counted = m.counted();
  header.tables = std::max<std::int64_t>(ranges.in(m.tables(), 0, kMostTracks, "tables"), 1);
  header.entry_bytes = ranges.in(m.entry_bytes(), 0, kMostRowBytes, "entry_bytes");
  header.unnumbered = m.unnumbered();
  header.rules = read_rules(m);
  header.tree = m.tree();
  header.id_tokens = ranges.in(m.id_tokens(), 0, kMostTokens, "id_tokens");
  header.named_answers = m.named_answers();
  header.replicas =
      std::max(static_cast<std::int32_t>(ranges.in(m.replicas(), 0, kMostReplicas, "replicas")), 1);
  header.prompt_rows = ranges.in(m.prompt_rows(), 0, kMostTokens, "prompt_rows");
  header.allocator = m.allocator();
  header.scenario = m.scenario();
  header.trace_digest = m.trace_digest();
  KVPLAN_TRY_DO(ranges.give(Done{}));
  if (header.replicas > kMostBytes / header.capacity_bytes)
    return bad_input("expected replicas with at most " + std::to_string(kMostBytes) +
                     " bytes in total, found " + std::to_string(header.capacity_bytes) +
                     " bytes of each of " + std::to_string(header.replicas))
        .at_field("replicas");
  KVPLAN_TRY_DO(check_rows(header));
  KVPLAN_TRY_DO(check_groups(header));
  KVPLAN_TRY_DO(check_tables(header));
  KVPLAN_TRY_DO(check_rules(header));
  KVPLAN_TRY_DO(check_tree(header));
  KVPLAN_TRY_DO(check_prompt_rows(header));
  const Wide alloc_unit_bytes =
      Wide{header.alloc_unit_tokens} * (header.token_bytes / header.tables) + header.entry_bytes;
  if (!odd && header.alloc_units > header.capacity_bytes / alloc_unit_bytes)
    return bad_input("expected room for all allocation units, found " +
                     std::to_string(header.capacity_bytes) + " bytes")
        .at_field("capacity_bytes");
  KVPLAN_TRY_DO(check_tracks(header, units));
  if (!header.returns_alloc_units && header.alloc_unit_tokens != 1)
    return bad_input("expected 1 when memory is one range per request, found " +
                     std::to_string(header.alloc_unit_tokens))
        .at_field("quantum_tokens");
  return header;
}

Result<Record> decode_record(const pb::Fact& fact, const pb::Claim* claim, std::int32_t replicas) {
  Ranges ranges;
  Record record{decode_fact(fact, ranges), {}, fact.replica()};
  const bool of_all =
      std::holds_alternative<TickEnd>(record.fact) || std::holds_alternative<FleetEnd>(record.fact);
  if (of_all && replicas == 1)
    ranges.refuse("expected no events for all replicas when there is only one", "kind");
  ranges.in(fact.replica(), 0, of_all ? 0 : replicas - 1, "replica");
  if (claim != nullptr) {
    Claims& claims = record.claims;
    ranges.no_more_than(kMostListed, claim->places_size(), "claim.places");
    claims.places.assign(claim->places().begin(), claim->places().end());
    claims.has_totals = claim->totals_size() != 0;
    if (claims.has_totals) claims.totals = decode_totals(claim->totals(), "claim.totals", ranges);
    claims.has_kept = claim->has_kept_digest();
    claims.kept_digest = claim->kept_digest();
    claims.has_kept_cells = claim->has_kept_cells();
    claims.kept_cells = ranges.in(claim->kept_cells(), 0, kMostTime, "claim.kept_cells");
    claims.has_joint_peak = claim->has_joint_peak();
    if (claims.has_joint_peak) {
      const pb::JointPeak& m = claim->joint_peak();
      claims.joint_peak = {ranges.time(m.time(), "claim.joint_peak.time"),
                           decode_totals(m.totals(), "claim.joint_peak.totals", ranges),
                           ranges.in(m.running(), 0, kMostTime, "claim.joint_peak.running"),
                           ranges.in(m.hole_bytes(), 0, kMostTime, "claim.joint_peak.hole_bytes")};
    }
    claims.running = ranges.in(claim->running(), 0, INT32_MAX, "claim.running");
    claims.waiting = ranges.in(claim->waiting(), 0, INT32_MAX, "claim.waiting");
  }
  return ranges.give(std::move(record));
}

}  // namespace kvplan::event_log
