#include "simulator/io/log/encoder.h"

#include <algorithm>
#include <optional>

#include "proto/event_log.pb.h"
#include "simulator/frame/frame.h"
#include "simulator/io/log/frame.h"
#include "simulator/io/log/rules_message.h"

namespace kvplan::event_log {
namespace {

namespace pb = ::kvplan::v1;

/// Facts and list entries in a frame, about: large enough to compress well, small enough to read at ease.
constexpr std::size_t kUnitsPerFrame = 8192;

/// Writes each kind of fact into its message.
struct ToMessage {
  pb::Fact& out;
  void operator()(const Arrival& f) const {
    auto& m = *out.mutable_arrival();
    m.set_time(f.time);
    m.set_request(number(f.request));
    m.set_input(f.input);
    m.set_output(f.output);
    m.set_accepted(f.accepted);
    m.set_prefix_ids(f.prefix_ids);
    m.set_priority(f.priority);
    m.set_named(f.named);
  }
  void operator()(const PassBegin& f) const { out.mutable_pass_begin()->set_time(f.time); }
  void operator()(const Preempt& f) const {
    out.mutable_preempt()->set_request(number(f.request));
    out.mutable_preempt()->set_written(f.written);
  }
  void operator()(const Reclaim& f) const {
    out.mutable_reclaim()->set_publication(f.publication);
    out.mutable_reclaim()->set_pages(f.pages);
  }
  void operator()(const Admit& f) const {
    auto& m = *out.mutable_admit();
    m.set_request(number(f.request));
    m.mutable_hit_publications()->Add(f.hit_publications.begin(), f.hit_publications.end());
    m.mutable_hit_keys()->Add(f.hit_keys.begin(), f.hit_keys.end());
    m.set_found_pages(f.found_pages);
    m.set_found_blocks(f.found_blocks);
  }
  void operator()(const Grant& f) const {
    auto& m = *out.mutable_grant();
    m.set_request(number(f.request));
    m.set_first_block(f.first_block);
    m.set_quanta(f.alloc_units);
    m.mutable_shared_keys()->Add(f.shared_keys.begin(), f.shared_keys.end());
    m.set_tensor_tokens(f.tensor_tokens);
    m.set_first_table(f.first_table);
    m.set_tables(f.tables);
  }
  void operator()(const Publish& f) const {
    auto& m = *out.mutable_publish();
    m.set_request(number(f.request));
    m.set_logical_block(f.logical_block);
    m.set_key(f.key);
  }
  void operator()(const Chunk& f) const {
    auto& m = *out.mutable_chunk();
    m.set_request(number(f.request));
    m.set_computed(f.computed);
    m.set_tokens(f.tokens);
  }
  void operator()(const PassEnd& f) const { out.mutable_pass_end()->set_refused(f.refused); }
  void operator()(const StepRun& f) const {
    auto& m = *out.mutable_steps();
    m.set_time(f.time);
    m.set_first(f.first);
    m.set_growth(f.growth);
    m.set_steps(f.steps);
  }
  void operator()(const StepEnd& f) const {
    auto& m = *out.mutable_step_end();
    m.set_time(f.time);
    for (const RequestId request : f.finishing) m.add_finishing(number(request));
  }
  void operator()(const FirstToken& f) const { out.mutable_first_token()->set_request(number(f.request)); }
  void operator()(const Drop& f) const {
    auto& m = *out.mutable_drop();
    m.set_request(number(f.request));
    m.set_sink(f.sink);
    m.set_begin(f.begin);
    m.set_first_released(f.first_released);
    m.set_released(f.released);
  }
  void operator()(const Finish& f) const {
    out.mutable_finish()->set_request(number(f.request));
    out.mutable_finish()->set_written(f.written);
  }
  void operator()(const Settled& f) const { out.mutable_settled()->set_time(f.time); }
  void operator()(const End& f) const { out.mutable_end()->set_time(f.time); }
  void operator()(const TickEnd& f) const { out.mutable_tick_end()->set_time(f.time); }
  void operator()(const FleetEnd& f) const { out.mutable_fleet_end()->set_time(f.time); }
  void operator()(const HoldBack& f) const { out.mutable_hold_back()->set_request(number(f.request)); }
  void operator()(const Course& f) const {
    out.mutable_course()->set_request(number(f.request));
    out.mutable_course()->mutable_drops()->Add(f.drops.begin(), f.drops.end());
  }
  void operator()(const Move& f) const {
    auto& m = *out.mutable_move();
    m.set_request(number(f.request));
    m.set_copied(f.copied);
    m.set_slots(f.slots);
    m.set_slides(f.slides);
  }
  void operator()(const Counts& f) const {
    auto& m = *out.mutable_counts();
    m.set_request(number(f.request));
    for (const AlikeTracks& alike : f.alike) {
      auto& tracks = *m.add_alike();
      tracks.set_tracks(alike.tracks);
      tracks.mutable_runs()->Add(alike.runs.begin(), alike.runs.end());
    }
  }
  void operator()(const Compact& f) const {
    auto& m = *out.mutable_compact();
    m.set_request(number(f.request));
    m.set_slots(f.slots);
    m.set_cells(f.cells);
    m.set_released(f.released);
    m.set_first_table(f.first_table);
    m.set_tables(f.tables);
  }
  void operator()(const PrefixIds& f) const {
    out.mutable_prefix_ids()->set_request(number(f.request));
    out.mutable_prefix_ids()->mutable_ids()->Add(f.ids.begin(), f.ids.end());
  }
  void operator()(const Settle& f) const {
    out.mutable_settle()->set_request(number(f.request));
    out.mutable_settle()->set_tokens(f.tokens);
  }
  void operator()(const LetGo& f) const {
    out.mutable_let_go()->set_request(number(f.request));
    out.mutable_let_go()->mutable_logical_blocks()->Add(f.logical_blocks.begin(), f.logical_blocks.end());
  }
};

std::size_t units(const Record& record) {
  std::size_t count = 1 + record.claims.places.size() + (record.claims.has_totals ? kStates : 0);
  if (const auto* admit = std::get_if<Admit>(&record.fact)) count += 2 * admit->hit_keys.size();
  if (const auto* grant = std::get_if<Grant>(&record.fact)) count += grant->shared_keys.size();
  if (const auto* end = std::get_if<StepEnd>(&record.fact)) count += end->finishing.size();
  if (const auto* course = std::get_if<Course>(&record.fact)) count += course->drops.size();
  if (const auto* gone = std::get_if<LetGo>(&record.fact)) count += gone->logical_blocks.size();
  if (const auto* prompt = std::get_if<PrefixIds>(&record.fact)) count += prompt->ids.size();
  if (const auto* counts = std::get_if<Counts>(&record.fact))
    for (const AlikeTracks& alike : counts->alike) count += 1 + alike.runs.size();
  return count;
}

}  // namespace

struct Encoder::State {
  Sink sink;
  std::optional<Error> failed;
  pb::EventChunk chunk;
  std::size_t units{0};
  std::int64_t facts{0}, claims{0};

  Status write(std::string_view bytes) {
    auto status = sink(bytes);
    if (!status.ok()) failed = status.error();
    return status;
  }
  template <class Message>
  Status write_frame(std::string_view type, const Message& message) {
    if (failed) return *failed;
    if (message.ByteSizeLong() > kMostFrameBytes) {
      failed =
          bad_input("one event of the log needs more than " + std::to_string(kMostFrameBytes) + " bytes");
      return *failed;
    }
    return write(frame::make(type, message.SerializeAsString()));
  }
  Status flush() {
    if (chunk.facts_size() == 0) return Done{};
    KVPLAN_TRY_DO(write_frame(kEvents, chunk));
    chunk.Clear();
    units = 0;
    return Done{};
  }
};

namespace {

/// The first format version that has all that the header uses.
std::uint32_t version_of(const Header& header) {
  if (header.state_blocks > 0) return 14;
  if (header.named_answers) return 13;
  if (std::ranges::count(header.track_units, 0) > 0) return 12;
  if (!header.track_units.empty() && header.prefix_cache) return 11;
  if (!header.groups.empty() && header.prefix_cache) return 10;
  const std::uint32_t of_rules = version_of_rules(header.rules);
  if (of_rules >= 8) return of_rules;
  if (header.replicas > 1) return 8;
  if (of_rules > 1) return of_rules;
  if (header.tables > 1) return 6;
  if (header.compacts) return 5;
  if (!header.groups.empty()) return 4;
  switch (header.table_form) {
    case TableForm::kTokens:
      return 1;
    case TableForm::kNothing:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

Encoder::Encoder(Sink sink) : state_(std::make_unique<State>()) {
  state_->sink = std::move(sink);
}
Encoder::~Encoder() = default;

Status Encoder::begin(const Header& header) {
  pb::EventLogHeader m;
  m.set_version(version_of(header));
  m.set_writer(header.writer);
  m.set_quantum_tokens(header.alloc_unit_tokens);
  m.set_token_bytes(header.token_bytes);
  m.set_capacity_bytes(header.capacity_bytes);
  m.set_quanta(header.alloc_units);
  m.set_null_block(header.null_block);
  m.set_returns_quanta(header.returns_alloc_units);
  m.set_prefix_cache(header.prefix_cache);
  m.mutable_track_units()->Add(header.track_units.begin(), header.track_units.end());
  m.set_metadata_bytes(header.metadata_bytes);
  m.set_reuse(header.reuse);
  m.set_range_placement(static_cast<pb::RangePlacement>(header.range_placement));
  m.set_table_form(static_cast<pb::TableForm>(header.table_form));
  m.set_odd_quantum_bytes(header.odd_alloc_unit_bytes);
  m.set_page_bytes(header.page_bytes);
  for (const TokenRow& row : header.rows) {
    auto& out = *m.add_rows();
    out.set_bytes(row.bytes);
    out.set_quanta(row.alloc_units);
  }
  for (const LayerGroup& group : header.groups) {
    auto& out = *m.add_groups();
    out.set_layers(group.layers);
    out.set_window(group.window);
  }
  m.set_state_blocks(header.state_blocks);
  m.set_state_layers(header.state_layers);
  m.set_state_slots(header.state_slots);
  m.set_compacts(header.compacts);
  m.set_counted(header.counted);
  m.set_tables(header.tables > 1 ? header.tables : 0);
  m.set_entry_bytes(header.entry_bytes);
  m.set_unnumbered(header.unnumbered);
  write_rules(header.rules, m);
  m.set_tree(header.tree);
  m.set_id_tokens(header.id_tokens);
  m.set_named_answers(header.named_answers);
  m.set_replicas(header.replicas > 1 ? header.replicas : 0);
  m.set_prompt_rows(header.prompt_rows);
  m.set_allocator(header.allocator);
  m.set_scenario(header.scenario);
  m.set_trace_digest(header.trace_digest);
  KVPLAN_TRY_DO(state_->write(kMagic));
  return state_->write_frame(kHead, m);
}

Status Encoder::add(const Record& record) {
  State& s = *state_;
  if (s.failed) return *s.failed;
  const std::size_t more = units(record);
  if (s.units + more > kUnitsPerFrame) KVPLAN_TRY_DO(s.flush());
  s.units += more;
  if (record.claims.any()) {
    pb::Claim& claim = *s.chunk.add_claims();
    claim.set_fact(static_cast<std::uint32_t>(s.chunk.facts_size()));
    claim.mutable_places()->Add(record.claims.places.begin(), record.claims.places.end());
    if (record.claims.has_totals)
      claim.mutable_totals()->Add(record.claims.totals.begin(), record.claims.totals.end());
    claim.set_running(record.claims.running);
    claim.set_waiting(record.claims.waiting);
    if (record.claims.has_kept_cells) claim.set_kept_cells(record.claims.kept_cells);
    if (record.claims.has_kept) claim.set_kept_digest(record.claims.kept_digest);
    if (record.claims.has_joint_peak) {
      const JointPeak& peak = record.claims.joint_peak;
      auto& m = *claim.mutable_joint_peak();
      m.set_time(peak.time);
      m.mutable_totals()->Add(peak.totals.begin(), peak.totals.end());
      m.set_running(peak.running);
      m.set_hole_bytes(peak.hole_bytes);
    }
    ++s.claims;
  }
  pb::Fact& fact = *s.chunk.add_facts();
  fact.set_replica(record.replica);
  std::visit(ToMessage{fact}, record.fact);
  ++s.facts;
  return Done{};
}

Status Encoder::finish() {
  KVPLAN_TRY_DO(state_->flush());
  pb::EventLogTail tail;
  tail.set_facts(state_->facts);
  tail.set_claims(state_->claims);
  return state_->write_frame(kTail, tail);
}

}  // namespace kvplan::event_log
