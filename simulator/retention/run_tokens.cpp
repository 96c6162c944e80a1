#include "simulator/retention/run_tokens.h"

#include <algorithm>

#include "simulator/attention/replay.h"
#include "simulator/courses/encoded_course.h"
#include "simulator/latency/latencies.h"
#include "simulator/memory/allocators.h"
#include "simulator/retention/place_policy.h"

namespace kvplan::runs {
namespace {

/// The policy that the scenario names, which may be `full`.
attention::PolicyChoice named_policy(const Scenario& s) {
  return attention::policy_of(parse_member("eviction", s.text("eviction")).value());
}

/// Checks the policy's group: a named model has its own number of query heads per KV head.
Status check_group(const attention::PolicyChoice& policy, const model::ModelShape& model) {
  const std::int64_t given = policy.choice.integer("group");
  if (given == 0 || given * model.kv_heads == model.query_heads) return Done{};
  return bad_input("expected " + std::to_string(model.query_heads / model.kv_heads) +
                   ", the query heads per KV head of " + model.name + " (" +
                   std::to_string(model.query_heads) + " of " + std::to_string(model.kv_heads) +
                   "), or 0 for this value, found " + std::to_string(given) +
                   "; with model=recording, this parameter of the policy determines the number of KV heads")
      .at_field("eviction: " + std::string(policy.choice.name()) + ":group");
}

/// Errors: layers with a state in place of a KV cache, and something with which runs do not model them.
Status check_states(const Scenario& s, const model::ModelShape& model) {
  if (model.state_layers() == 0) return Done{};
  const std::string states = "layers with a state in place of a KV cache, as " + model.name + " has";
  const std::string_view prefixes = s.engine_traits().prefixes_beside_states;
  if (prefixes.empty())
    return bad_input("runs with engine=" + std::string(s.engine.name()) + " do not model " + states +
                     "; engine=vllm-v1 does, and `kvplan bytes` counts them")
        .at_field("engine");
  if (s.engine_traits().wants_prefixes)
    return bad_input("runs do not model prefix caching of " + states +
                     ": expected it off, as vLLM has it for such models if nothing is said")
        .at_field("engine." + std::string(prefixes));
  if (memory::allocator_entry(s.allocator).follows_windows) return Done{};
  return bad_input("expected " + memory::allocators_with(&memory::AllocatorEntry::follows_windows) +
                   ", for " + states + ", found \"" + std::string(s.allocator.name()) + "\"")
      .at_field("memory.allocator");
}

/// What the run assumes of states.
std::string about_states(const model::ModelShape& model) {
  return std::to_string(model.state_layers()) + " of the model's " + std::to_string(model.layers) +
         " layers have a state in place of a KV cache. A request holds blocks for them from its admission to "
         "its "
         "end, however many tokens it has. Where step times follow from bytes (roofline, composed), a step "
         "reads "
         "and writes the states of its requests, at the rate of memory; no kernel for states was measured. "
         "Prefix "
         "caching is off, as vLLM has it for such models.";
}

/// The model that the scenario names, by name or file.
Result<model::ModelShape> named_model(const Scenario& s, bool follows_windows, const ModelOpener& open,
                                      std::vector<std::string>& assumptions) {
  model::ModelShape shape;
  if (s.model != nullptr) {
    shape = *s.model;
    if (const std::string& named = s.text("model"); named != shape.name)
      assumptions.push_back(named + " is the bundled model " + shape.name +
                            ": the same shape and the same bits of weights.");
  } else {
    if (!open) return bad_input("model files cannot be read here").at_field("model");
    KVPLAN_TRY(shape, open(s.model_file));
    assumptions.push_back("The model comes from " + s.model_file + ": " + std::to_string(shape.layers) +
                          (shape.layers == 1 ? " layer, " : " layers, ") +
                          std::to_string(shape.kv_token_bytes()) + " bytes per token.");
  }
  if (const std::int64_t windows = shape.window_layers();
      windows > 0 && !memory::allocator_entry(s.allocator).follows_windows)
    assumptions.push_back(
        std::to_string(windows) + " of the model's " + std::to_string(shape.layers) +
        (follows_windows || s.window_format
             ? " layers have a sliding window. They keep the tokens of their window, and hold and read the "
               "whole prompt until it is computed. The token policy decides about the other layers."
         : s.reader ? " layers have a sliding window. This run still holds every token in them, and reads "
                      "them like the other layers."
                    : " layers have a sliding window. This run still holds and reads every token in them."));
  if (shape.weight_shape.experts > 0 && latency::latency_entry(s.latency).reads_all_experts)
    assumptions.emplace_back("Every step reads the weights of all experts, however few tokens it has.");
  assumptions.insert(assumptions.end(), shape.notes.begin(), shape.notes.end());
  return shape;
}

/// Fills RunTokens step by step; errors, warnings and assumptions come in this order.
class TokensMaker {
 public:
  TokensMaker(const Scenario& s, const RetentionFiles& open, std::vector<std::string>& warnings,
              std::vector<std::string>& assumptions)
      : s_(s), open_(open), warnings_(warnings), assumptions_(assumptions) {}
  Result<RunTokens> make();

 private:
  [[nodiscard]] bool counted() const { return s_.evicts_by == EvictsBy::kCounts; }
  [[nodiscard]] bool needs_recordings() const;
  Status open_model();
  Status set_standing();
  Status place();
  Status add_scales();
  Status add_reader();
  Status choose_kind();
  Result<DrivingRecordings> driving();

  const Scenario& s_;
  const RetentionFiles& open_;
  std::vector<std::string>& warnings_;
  std::vector<std::string>& assumptions_;
  RunTokens tokens_;
  memory::TablePer table_per_{memory::TablePer::kRequest};
  std::vector<Recorded> recordings_;
  std::optional<TrackShape> standing_;  ///< layers and heads of recordings that are used for the model
  bool replayed_{false};                ///< recordings decide which tokens are dropped
  std::optional<PlacedPolicy> policy_;  ///< set if requests follow courses of a policy
};

/// True if attention decides, or if a counted policy is given recordings, which then say which tokens are dropped.
bool TokensMaker::needs_recordings() const {
  if (s_.evicts_by == EvictsBy::kRecordings) return true;
  return counted() && !s_.attention.empty() &&
         (!attention::lengths_decide(named_policy(s_).kind->traits(*s_.eviction)) ||
          (s_.budget && attention::measures_scores(*s_.budget)));
}

/// Recordings of another shape may be used for the model, if the scenario says so. Counted policies do not use them,
/// because such recordings would also have to give the number of kept tokens.
Status TokensMaker::set_standing() {
  KVPLAN_TRY(standing_, standing_shape(recordings_, tokens_.model, named_policy(s_)));
  if (!standing_) return Done{};
  if (s_.budget && (!counted() || attention::measures_scores(*s_.budget)))
    return refused_together(Part::kOtherShape, Part::kBudget, s_);
  if (!counted()) {
    const auto shape = [](std::int64_t layers, std::int64_t heads) {
      return std::to_string(layers) + " x " + std::to_string(heads);
    };
    assumptions_.push_back("Recordings of " + shape(standing_->layers, standing_->in_layer) +
                           " layers and KV heads stand in for the " +
                           shape(tokens_.model.layers, tokens_.model.kv_heads) + " of " + tokens_.model.name +
                           " (workload.extrapolation=shape). A layer keeps the tokens of the recorded layer "
                           "at the same relative depth, and a head those of the recorded head at the same "
                           "relative index. Layers and heads with the same recorded layer or head keep the "
                           "same tokens, so more blocks may be freed than in reality.");
    return Done{};
  }
  warnings_.push_back("workload.attention is not used: lengths determine how many tokens eviction=" +
                      std::string(s_.eviction->name()) +
                      " keeps, and recordings of another shape add nothing.");
  standing_.reset();
  recordings_.clear();
  replayed_ = false;
  return Done{};
}

/// Opens the model, and the recordings if they are needed.
Status TokensMaker::open_model() {
  const bool has_model = s_.model != nullptr || !s_.model_file.empty();
  replayed_ = needs_recordings();
  const bool asked = replayed_;
  if (replayed_ || !has_model) {
    if (!open_.recording) return bad_input("recordings cannot be read here").at_field("workload.attention");
    KVPLAN_TRY(recordings_, open_recordings(s_.attention, open_.recording, warnings_));
  }
  if (has_model) {
    const bool follows_windows = s_.eviction && table_per_ != memory::TablePer::kRequest;
    KVPLAN_TRY(tokens_.model, named_model(s_, follows_windows, open_.model, assumptions_));
    if (replayed_ && s_.extrapolates_shape) KVPLAN_TRY_DO(set_standing());
    if (!standing_) KVPLAN_TRY_DO(check_group(named_policy(s_), tokens_.model));
  } else {
    const attention::RecordingInfo& info = recordings_.front().recording->info();
    KVPLAN_TRY(const std::int32_t group, attention::group_of(named_policy(s_), info));
    KVPLAN_TRY(tokens_.model, model_of(info, info.layer(0).query_heads / group, assumptions_));
    if (s_.extrapolates_shape)
      warnings_.emplace_back("workload.extrapolation is ignored: the model has the recordings' shape.");
  }
  if (s_.attention.empty() && s_.extrapolates_shape)
    warnings_.emplace_back(
        "workload.extrapolation is ignored: there are no recordings (workload.attention).");
  if (!s_.attention.empty() && !asked)
    warnings_.push_back("workload.attention is not used: the number of tokens that eviction=" +
                        std::string(s_.eviction ? s_.eviction->name() : "full") +
                        " keeps does not depend on attention.");
  return Done{};
}

/// Places the model on its ranks, and the policy if requests follow courses.
Status TokensMaker::place() {
  if (!tokens_.model.runs_miss.empty())
    return bad_input("runs do not model " + tokens_.model.runs_miss + ", as " + tokens_.model.name +
                     " has; `kvplan bytes` and `kvplan pool` count them")
        .at_field("model");
  KVPLAN_TRY_DO(check_states(s_, tokens_.model));
  if (tokens_.model.state_layers() > 0) assumptions_.push_back(about_states(tokens_.model));
  KVPLAN_TRY(tokens_.placed, place_model(s_, tokens_.model, open_.side, warnings_, assumptions_));
  const bool tables = table_per_ != memory::TablePer::kRequest;
  // One keep rule can serve only layers that keep the same tokens; with windows, tables keep different tokens.
  const bool beside_windows = tables && tokens_.model.window_layers() > 0;
  const bool by_courses = s_.eviction && (s_.follows_courses() || beside_windows);
  if (!by_courses && tables)
    assumptions_.emplace_back(
        "No policy evicts tokens of a single layer or head, so all block tables of a request "
        "(memory.allocator.table) are alike: they count as one.");
  if (!by_courses) return Done{};
  KVPLAN_TRY(policy_, place_policy({.scenario = s_,
                                    .model = tokens_.model,
                                    .placed = tokens_.placed,
                                    .table_per = table_per_,
                                    .replayed = replayed_,
                                    .standing = standing_},
                                   open_, tokens_.parts, warnings_, assumptions_));
  tokens_.memory.cells = policy_->units;
  tokens_.memory.tables = policy_->tables;
  return Done{};
}

/// The format's scales are stored with the cells that the policy distinguishes.
Status TokensMaker::add_scales() {
  const RankBytes& bytes = tokens_.placed.bytes;
  const std::int64_t cells = tokens_.memory.cells.per_token;
  if (bytes.scale_bytes % cells != 0 || (bytes.token_bytes - bytes.scale_bytes) % cells != 0)
    return bad_input("expected a format with " + std::to_string(bytes.token_bytes) +
                     " bytes per token that can be divided evenly among the " + std::to_string(cells) +
                     " parts of a token that the policy evicts separately")
        .at_field("format");
  tokens_.memory.cells.metadata_bytes += bytes.scale_bytes / cells;
  return Done{};
}

Status TokensMaker::add_reader() {
  tokens_.parts.add(Part::kWidths, !tokens_.placed.of_token().by_layer.empty());
  for (const model::LayerRun& run : tokens_.model.runs)
    tokens_.parts.add(Part::kLatentModel, run.cache.kind != model::CacheKind::kHeads);
  KVPLAN_TRY_DO(check_combinations(tokens_.parts, s_, Known::kModel));
  KVPLAN_TRY(tokens_.reader, run_reader(s_, tokens_.model, tokens_.placed.bytes, open_.scores));
  tokens_.memory.cells.metadata_bytes += tokens_.reader->metadata_bytes;
  for (std::string& sentence : tokens_.reader->assumptions()) assumptions_.push_back(std::move(sentence));
  if (s_.derives_pool && tokens_.reader->metadata_bytes > 0)
    assumptions_.emplace_back("The start-up check of the pool ignores the metadata of sparse attention.");
  return Done{};
}

/// Errors: recordings of another shape than the model, or without what the policy asks for.
Result<DrivingRecordings> TokensMaker::driving() {
  if (s_.evicts_by == EvictsBy::kTokens)
    return DrivingRecordings{.recordings = {any_sequence(tokens_.model)}, .unrecorded = true};
  if (!replayed_) return DrivingRecordings{};
  const bool for_rows = policy_->traits().needs_recording() || policy_->measures();
  for (const Recorded& recorded : recordings_)
    KVPLAN_TRY_DO(standing_ ? check_whole(recorded, for_rows)
                            : check_shape(recorded, tokens_.model, policy_->policy, for_rows));
  return DrivingRecordings{.recordings = std::move(recordings_), .other_shape = standing_.has_value()};
}

Status TokensMaker::choose_kind() {
  if (s_.encodes()) {
    const PlacedPolicy* const policy = policy_ ? &*policy_ : nullptr;
    KVPLAN_TRY(EncodedRank encoded,
               encode_rank(s_, tokens_.model, tokens_.placed, policy, tokens_.parts, assumptions_));
    tokens_.memory.cells = {encoded.token_bytes, 0};
    tokens_.memory.token_bytes = encoded.token_bytes;
    tokens_.memory.alloc_units_beyond = core::kEncodedBlocksBeyond;
    std::optional<KeepCounted> counted;
    if (policy_) {
      KVPLAN_TRY(DrivingRecordings driven, driving());
      counted.emplace(std::move(*policy_), std::move(driven));
    }
    tokens_.kind = KeepEncoded(std::move(encoded.layers), std::move(counted));
    return Done{};
  }
  if (!policy_) {
    if (s_.eviction) tokens_.kind = KeepByRule(s_.keep);
    return Done{};
  }
  KVPLAN_TRY(DrivingRecordings driven, driving());
  if (counted()) {
    tokens_.kind = KeepCounted(std::move(*policy_), std::move(driven));
  } else if (s_.evicts_by == EvictsBy::kSets) {
    tokens_.kind = KeepSets(std::move(*policy_));
  } else if (driven.any()) {
    tokens_.kind = KeepRecorded(std::move(*policy_), std::move(driven));
  } else {
    tokens_.kind = KeepInterval(std::move(*policy_));
  }
  return Done{};
}

Result<RunTokens> TokensMaker::make() {
  tokens_.parts = scenario_parts(s_);
  if (const auto table_per = memory::allocator_entry(s_.allocator).table_per; table_per != nullptr)
    table_per_ = table_per(s_.allocator);
  KVPLAN_TRY_DO(open_model());
  KVPLAN_TRY_DO(place());
  if (!s_.encodes()) KVPLAN_TRY_DO(add_scales());
  if (s_.reader) KVPLAN_TRY_DO(add_reader());
  tokens_.memory.token_bytes = tokens_.placed.bytes.token_bytes - tokens_.placed.bytes.scale_bytes +
                               tokens_.memory.cells.per_token * tokens_.memory.cells.metadata_bytes;
  if (policy_) {
    const bool windows = !policy_->windows.empty();
    tokens_.parts.add(Part::kCourses);
    tokens_.parts.add(Part::kPolicyTables, policy_->tables > 1 || windows);
    tokens_.parts.add(Part::kWindowTables, windows && policy_->placement != core::Placement::kHoles);
  }
  KVPLAN_TRY_DO(choose_kind());
  tokens_.prefixes = tokens_.retention().prefix_rule(s_.asks_for_prefixes());
  return std::move(tokens_);
}

}  // namespace

Result<RunTokens> make_run_tokens(const Scenario& scenario, const RetentionFiles& open,
                                  std::vector<std::string>& warnings, std::vector<std::string>& assumptions) {
  return TokensMaker(scenario, open, warnings, assumptions).make();
}

}  // namespace kvplan::runs
