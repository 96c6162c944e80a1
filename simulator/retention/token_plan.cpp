#include "simulator/retention/token_plan.h"

#include <algorithm>
#include <numeric>

#include "simulator/attention/cell_metadata.h"
#include "simulator/attention/recorded_sets.h"
#include "simulator/attention/replay.h"
#include "simulator/base/check.h"
#include "simulator/memory/allocators.h"
#include "simulator/model/ranks.h"
#include "simulator/retention/layer_counts.h"

namespace kvplan::plan {
namespace {

/// The policy that the scenario names, `full` too.
attention::PolicyChoice named_policy(const Scenario& s) {
  return attention::policy_of(parse_member("eviction", s.text("eviction")).value());
}

/// A named model says how many query heads share what is stored; a policy cannot make that another number.
Status check_group(const attention::PolicyChoice& policy, const model::ModelShape& model) {
  const std::int64_t given = policy.choice.integer("group");
  if (given == 0 || given * model.kv_heads == model.query_heads) return Done{};
  return bad_input("expected " + std::to_string(model.query_heads / model.kv_heads) +
                   ", the query heads per KV head of " + model.name + " (" +
                   std::to_string(model.query_heads) + " of " + std::to_string(model.kv_heads) +
                   "), or 0 for this value, found " + std::to_string(given) +
                   "; model=recording stores as many KV heads as the policy asks for")
      .at_field("eviction: " + std::string(policy.choice.name()) + ":group");
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
  if (shape.weight_shape.experts > 0 && s.latency.name() == "roofline")
    assumptions.emplace_back("Every step reads the weights of all experts, however few tokens it has.");
  assumptions.insert(assumptions.end(), shape.notes.begin(), shape.notes.end());
  return shape;
}

/// KV heads of a layer that a rank has: its share, or one that others have too.
std::int64_t layer_heads_of_rank(const TokenPlan& plan) {
  return std::max<std::int64_t>(plan.model.kv_heads / plan.placed.bytes.tensor_ranks, 1);
}

/// Tracks of each layer, of so many KV heads, where which tokens go is known of each of them; 0: all cells are
/// alike. `replayed`: of recordings, or the sets of a file.
std::int64_t tracks_of_layer(const TokenPlan& plan, bool replayed, std::int64_t heads) {
  const attention::PolicyTraits traits = plan.policy->kind->traits(plan.policy->choice);
  if (!replayed && !plan.keeps_by_layer()) return 0;
  if (!replayed) return plan.keeps_by_head() ? heads : 1;
  if (traits.all_alike() && !plan.budget) return 0;
  return traits.scope == attention::Scope::kLayer ? 1 : heads;
}

/// Where it is known which tokens go, ranks that share their tables may keep others than each other. Those of numbers
/// alone are asked for request by request (check_alike_ranks), or may differ as well. Recordings may stand for the
/// model.
Status set_rank_tracks(TokenPlan& plan, bool replayed) {
  const RankBytes& rank = plan.placed.bytes;
  const std::int64_t in_layer = tracks_of_layer(plan, replayed, plan.model.kv_heads);
  if (plan.counted || in_layer == 0 || (rank.ranks() == 1 && !plan.standing)) return Done{};
  if (!replayed && !ranks_differ(plan)) return Done{};
  const std::int64_t heads = layer_heads_of_rank(plan);
  const bool has_all = (in_layer == 1 || heads == in_layer) && rank.layers == plan.model.layers;
  if (has_all && !plan.standing) return Done{};
  if (!has_all && !plan.ranks_share_tables()) {
    if (!replayed) return Done{};  // the error is of the first request whose ranks are not alike
    return bad_input(
               "expected " +
               std::string(
                   plan.table_per == memory::TablePer::kHead
                       ? "one rank, or tables that ranks share (memory.allocator=paged:table=all or, with "
                         "one stage, table=layer)"
                       : "one stage (deployment.pp=1), or one table (memory.allocator=paged:table=all)") +
               ", since \"" + std::string(plan.policy->choice.name()) +
               "\" keeps different tokens in each layer or head, and a run simulates one rank")
        .at_field("deployment");
  }
  const TrackShape model{plan.model.layers, in_layer};
  TrackShape known = model;
  if (plan.standing)
    known = {plan.standing->layers, tracks_of_layer(plan, replayed, plan.standing->in_layer)};
  plan.rank_tracks.emplace(known, model, RankShare{rank.first_layer, rank.layers, heads});
  const auto units = plan.rank_tracks->units(plan.table_per, plan.tables);
  KVPLAN_CHECK(std::accumulate(units.begin(), units.end(), std::int64_t{0}) == plan.units.per_token,
               plan.units.per_token, heads);
  return Done{};
}

/// Scales of the format lie beside the cells that the policy tells apart.
Status add_scales(TokenPlan& plan) {
  const RankBytes& bytes = plan.placed.bytes;
  const std::int64_t cells = plan.units.per_token;
  if (bytes.scale_bytes % cells != 0 || (bytes.token_bytes - bytes.scale_bytes) % cells != 0)
    return bad_input("expected a format whose " + std::to_string(bytes.token_bytes) +
                     " bytes per token can be divided evenly among the " + std::to_string(cells) +
                     " parts of a token that the policy evicts separately")
        .at_field("format");
  plan.units.metadata_bytes += bytes.scale_bytes / cells;
  return Done{};
}

/// Of a token on the rank that the run is of, over its layers.
std::int64_t kv_heads_of_rank(const model::ModelShape& model, const RankBytes& rank) {
  std::int64_t heads = 0;
  std::int64_t first = 0;
  for (const model::LayerRun& run : model.runs) {
    const std::int64_t begin = std::max(first, rank.first_layer);
    const std::int64_t end = std::min(first + run.layers, rank.first_layer + rank.layers);
    const model::LayerCache share = model::share_of(run.cache, rank.tensor_ranks);
    const std::int64_t stored = share.kind == model::CacheKind::kHeads ? share.heads : 1;
    heads += stored * std::max<std::int64_t>(end - begin, 0);
    first += run.layers;
  }
  return heads;
}

/// By layer, 0 where it sees everything; empty where all do.
std::vector<std::int64_t> windows_of_rank(const model::ModelShape& model, const RankBytes& rank) {
  std::vector<std::int64_t> all;
  for (const model::LayerRun& run : model.runs)
    all.insert(all.end(), static_cast<std::size_t>(run.layers), run.cache.window);
  std::vector<std::int64_t> windows(all.begin() + rank.first_layer,
                                    all.begin() + rank.first_layer + rank.layers);
  const bool none = std::all_of(windows.begin(), windows.end(), [](std::int64_t w) { return w == 0; });
  return none ? std::vector<std::int64_t>{} : windows;
}

/// The cells of a token of the rank that the policy decides about where it is replayed.
attention::CellUnits replayed_units(const TokenPlan& plan) {
  const attention::PolicyTraits traits = plan.policy->kind->traits(plan.policy->choice);
  const std::int64_t layers = plan.placed.bytes.layers;
  const std::int64_t heads = layer_heads_of_rank(plan);
  const attention::CellMetadata metadata = cell_metadata(*plan.policy, traits);
  if (traits.all_alike() && !plan.budget)
    return {1, metadata.of_token(kv_heads_of_rank(plan.model, plan.placed.bytes))};
  if (traits.scope == attention::Scope::kLayer) return {layers, metadata.of_token(heads)};
  return {layers * heads, metadata.of_token(1)};
}

/// Tables of a request, and the cells of a token that they or the policy tell apart.
Status set_units(TokenPlan& plan, memory::TablePer per, bool replayed) {
  using attention::Scope;
  using memory::TablePer;
  const RankBytes& rank = plan.placed.bytes;
  const attention::PolicyKind& kind = *plan.policy->kind;
  const attention::CellMetadata metadata = cell_metadata(*plan.policy, kind.traits(plan.policy->choice));
  const std::int64_t heads = kv_heads_of_rank(plan.model, rank);
  const auto all_alike = [&](const std::string& why) -> Status {
    const model::LayerCache& first = plan.model.runs.front().cache;
    for (const model::LayerRun& run : plan.model.runs)
      if (run.cache.kind != first.kind || run.cache.elements() != first.elements() ||
          run.cache.heads != first.heads)
        return bad_input("expected a model with equal bytes per token in all layers, because " + why +
                         ", found " + std::to_string(first.elements()) + " and " +
                         std::to_string(run.cache.elements()) + " elements")
            .at_field("model");
    return Done{};
  };
  plan.units = plan.counted ? attention::counted_units(*plan.policy, heads) : replayed_units(plan);
  if (plan.keeps_by_layer() && (plan.counted || !replayed)) {
    KVPLAN_TRY_DO(
        all_alike("\"" + std::string(plan.budget ? plan.budget->choice().name() : kind.descriptor.name) +
                  "\" gives each " + (plan.keeps_by_head() ? "head" : "layer") + " its own number"));
    const std::int64_t cells = plan.keeps_by_head() ? heads : rank.layers;
    plan.units = {cells, metadata.of_token(heads / cells)};
  } else if (plan.units.per_token > 1) {
    KVPLAN_TRY_DO(all_alike("\"" + std::string(kind.descriptor.name) + "\" keeps different tokens in each " +
                            (kind.traits(plan.policy->choice).scope == Scope::kLayer ? "layer" : "head")));
  }
  if (per == TablePer::kRequest) return Done{};
  KVPLAN_TRY_DO(all_alike("each has its own block table (memory.allocator.table)"));
  plan.tables = per == TablePer::kLayer ? rank.layers : heads;
  plan.table_per = per;
  plan.windows = windows_of_rank(plan.model, rank);
  if (plan.units.per_token < plan.tables) plan.units = {plan.tables, metadata.of_token(heads / plan.tables)};
  return Done{};
}

/// Cells that a policy, its budget or tables tell apart have one size.
Status check_alike_widths(const TokenPlan& plan) {
  if (plan.placed.of_token().by_layer.empty() || plan.units.per_token == 1) return Done{};
  return bad_input("layers have different bytes per token with " +
                   std::string(plan.placed.of_token().choice.name()) +
                   ": expected an eviction policy, budget and memory.allocator.table that treat all layers "
                   "and heads alike, found " +
                   std::string(plan.policy->choice.name()) + " with " + std::to_string(plan.units.per_token) +
                   " separate parts per token")
      .at_field("eviction");
}

core::Placement placement_of(const Choice& eviction) {
  const std::string& text = eviction.text("placement");
  if (text == "compact") return core::Placement::kCompact;
  return text == "reuse" ? core::Placement::kReuse : core::Placement::kHoles;
}

void note_counts(const TokenPlan& plan, const std::string& policy, bool replayed,
                 std::vector<std::string>& warnings, std::vector<std::string>& assumptions) {
  const attention::PolicyTraits traits = plan.policy->kind->traits(plan.policy->choice);
  if (traits.count && !traits.count->once && !traits.interval && !traits.budget && !plan.budget)
    warnings.push_back("eviction=" + policy + " is counted with " + std::to_string(traits.count->budget) +
                       " tokens, because it protects more than its budget.");
  if (replayed) return;
  assumptions.push_back("How many tokens eviction=" + policy +
                        " keeps is computed from lengths. Which tokens it keeps, and the effect on answers, "
                        "is unknown: use recorded attention of " +
                        plan.model.name + " (workload.attention; kvplan evict, kvplan frontier).");
}

void note_tables(const TokenPlan& plan, memory::TablePer per, std::vector<std::string>& assumptions) {
  if (plan.tables > 1)
    assumptions.push_back(
        "A request has " + std::to_string(plan.tables) + " tables, one for each " +
        (per == memory::TablePer::kLayer ? "layer" : "KV head of each layer") +
        " on a rank. A block belongs to one table, and its table entry counts as metadata.");
}

void note_budget(const TokenPlan& plan, std::vector<std::string>& assumptions) {
  const std::int64_t least = plan.budget->least();
  assumptions.push_back(
      std::string(plan.budget->by_head() ? "Each KV head" : "Each layer") +
      " keeps the number of tokens that budget=" + std::string(plan.budget->choice().name()) +
      " computes for a prompt" + (plan.budget->measured() ? ", measured on the recording's attention," : "") +
      " instead of the number in " + "eviction=" + std::string(plan.policy->choice.name()) +
      ", and at least " + std::to_string(least) + (least == 1 ? " token." : " tokens."));
}

/// What each KV head keeps, as the tables of heads say that the policy names.
Status read_head_tables(TokenPlan& plan, const ScoresOpener& open, std::vector<std::string>& assumptions) {
  attention::PolicyChoice& policy = *plan.policy;
  const std::string name(policy.choice.name());
  if (!open) return bad_input("tables per head cannot be read here").at_field("eviction");
  for (const Param& param : policy.choice.descriptor().params) {
    if (!param.names_file) continue;
    auto table = open(policy.choice.text(param.name));
    if (!table.ok())
      return bad_input(table.error().to_string())
          .at_field("eviction: " + name + ":" + std::string(param.name));
    policy.tables.push_back(std::move(table).value());
  }
  auto by_head = attention::intervals_by_head(policy, plan.model.layers, plan.model.kv_heads);
  if (!by_head.ok()) return bad_input(by_head.error().message).at_field("eviction: " + by_head.error().field);
  plan.by_head = std::move(by_head).value();
  std::int64_t whole = 0;
  for (const auto& layer : plan.by_head)
    whole += std::count_if(layer.begin(), layer.end(), [](const attention::KeptInterval& keep) {
      return keep.recent == attention::kWhole.recent;
    });
  assumptions.push_back("Following the head table of eviction=" + name + ", " + std::to_string(whole) +
                        " of " + std::to_string(plan.model.layers * plan.model.kv_heads) +
                        " KV heads keep everything; the others keep first and newest tokens.");
  return Done{};
}

/// Sets of all layers, which have to be of the model's.
Status read_sets(TokenPlan& plan, const SetsOpener& open) {
  attention::PolicyChoice& policy = *plan.policy;
  const std::string field = "eviction: " + std::string(policy.choice.name()) + ":file";
  if (!open) return bad_input("retained sets cannot be read here").at_field("eviction");
  auto sets = open(policy.choice.text("file"));
  if (!sets.ok()) return Error(sets.error()).at_field(field);
  policy.recorded = std::move(sets).value();
  attention::LayerPlace place{.layers = static_cast<std::int32_t>(plan.model.layers),
                              .query_heads = static_cast<std::int32_t>(plan.model.kv_heads),
                              .prompt = policy.recorded->prompt};
  for (; place.layer < place.layers; ++place.layer) {
    const attention::RecordedSets* const own = policy.recorded->of(place.layer);
    const std::int64_t generated = own == nullptr ? 0 : std::ssize(own->after) - 1;
    const Status fits = attention::check_recorded_for(policy, place, place.prompt + generated);
    if (!fits.ok())
      return bad_input(fits.error().message +
                       (own == nullptr ? "" : ", layer " + std::to_string(place.layer)))
          .at_field(field);
  }
  return Done{};
}

/// What of the plan's layers stands together, and what a policy leaves there: of the whole model too, since stages have
/// blocks of one number.
Status check_encoded_plan(const TokenPlan& plan) {
  const RunFormat& format = *plan.placed.format;
  if (plan.keeps_by_head()) {
    const Choice& by_head = plan.budget ? plan.budget->choice() : plan.policy->choice;
    return bad_input(
               "the encoded bytes of a layer depend on which heads keep a token: expected one number of "
               "tokens for all heads of a layer, found \"" +
               std::string(by_head.name()) + "\"")
        .at_field(plan.budget ? "budget" : "eviction");
  }
  if (format.encoded && format.encoded->kind->other_layers != nullptr && plan.policy &&
      !plan.policy->kind->traits(plan.policy->choice).interval)
    return bad_input(std::string(format.encoded->choice.name()) +
                     " stores several layers jointly, but an attention-based policy keeps different tokens "
                     "in them: expected eviction=full")
        .at_field("eviction");
  const RankBytes& rank = plan.placed.bytes;
  if (rank.stages == 1) return Done{};
  KVPLAN_TRY(const auto all, encoded_layers(plan.placed.layer_formats(), plan.model, rank.tensor_ranks, 0,
                                            plan.model.layers));
  if (all.size() == 1) return Done{};
  return bad_input(
             "expected one stage (deployment.pp=1), because layers have different bytes per token with " +
             (format.encoded ? format.encoded->choice : format.of_token.choice).to_string() +
             ": stages would need different numbers of blocks")
      .at_field("deployment");
}

/// A cell is a byte of the rank from here on.
Status set_encoded(TokenPlan& plan, std::vector<std::string>& assumptions) {
  constexpr std::int64_t kExample = 4096;  // tokens
  KVPLAN_TRY_DO(check_encoded_plan(plan));
  const RankBytes& rank = plan.placed.bytes;
  KVPLAN_TRY(plan.encoded, encoded_layers(plan.placed.layer_formats(), plan.model, rank.tensor_ranks,
                                          rank.first_layer, rank.layers));
  if (plan.policy) {
    const attention::CellMetadata beside =
        attention::cell_metadata(*plan.policy, plan.policy->kind->traits(plan.policy->choice));
    for (EncodedLayers& layers : plan.encoded)
      if (layers.window == 0) layers.beside_bytes = beside.of_token(layers.shape.kv_heads);
  }
  const core::EncodedTokens example = encoded_tokens(plan.encoded, kExample, kExample + 1);
  plan.units = {example.token_bytes, 0};
  const RunFormat& format = *plan.placed.format;
  const formats::FormatChoice* const codec = format.encoded ? &*format.encoded : nullptr;
  const bool told =
      codec != nullptr && codec->side != nullptr && plan.encoded.size() == 1;  // all layers alike
  const Choice& stored = told               ? plan.encoded.front().codec->choice
                         : codec != nullptr ? codec->choice
                                            : format.of_token.choice;
  std::string of_windows;
  if (const auto& window = plan.placed.window_format)
    of_windows = ", and tokens of sliding-window layers as " +
                 (window->encoded ? window->encoded->choice : window->of_token.choice).to_string();
  assumptions.push_back("Tokens are exact until their prompt is computed, and are then stored as " +
                        stored.to_string() + of_windows + ": a prompt of 4096 tokens takes " +
                        std::to_string(example.stored.front().total()) + " bytes on a rank instead of " +
                        std::to_string(kExample * example.token_bytes) +
                        ". Encoding takes no extra time; steps read the stored bytes.");
  for (const RunFormat* each : {&format, plan.placed.layer_formats().of_windows})
    if (each != nullptr && each->encoded)
      if (const std::string_view assumed = formats::assumed(*each->encoded); !assumed.empty())
        assumptions.emplace_back(assumed);
  return Done{};
}

/// Whether requests find cached blocks, and how much of a prompt is computed all the same.
void find_prefix_rule(const Scenario& s, TokenPlan& plan) {
  if (!plan.follows_courses()) {
    plan.finds_prefixes = s.asks_for_prefixes();
    return;
  }
  // What is dropped in place stays there for others, and one table has whole blocks for them.
  const bool in_place = plan.policy && plan.placement == core::Placement::kHoles && plan.encoded.empty() &&
                        plan.tables == 1 && plan.windows.empty();
  if (!in_place) return;
  plan.prompt_rows = plan.budget && plan.budget->measured()
                         ? attention::kAllRows
                         : plan.policy->kind->traits(plan.policy->choice).computed_rows();
  plan.finds_prefixes = s.asks_for_prefixes() && plan.prompt_rows != attention::kAllRows;
}

/// Recordings of another shape may stand for the model, where the scenario says so. `replayed`: they say which tokens
/// go; not of counted policies, of which they would have to say how many, too.
Status set_standing(const Scenario& s, TokenPlan& plan, std::vector<Recorded>& recordings, bool& replayed,
                    std::vector<std::string>& warnings, std::vector<std::string>& assumptions) {
  KVPLAN_TRY(plan.standing, standing_shape(recordings, plan.model, named_policy(s)));
  if (!plan.standing) return Done{};
  if (s.budget && (!plan.counted || attention::measures_scores(*s.budget)))
    return bad_input("expected \"none\" when recordings of another shape stand in for " + plan.model.name +
                     ", because the budget's numbers are for the model's layers and heads; found " +
                     s.text("budget"))
        .at_field("budget");
  if (!plan.counted) {
    const auto shape = [](std::int64_t layers, std::int64_t heads) {
      return std::to_string(layers) + " x " + std::to_string(heads);
    };
    assumptions.push_back(
        "Recordings of " + shape(plan.standing->layers, plan.standing->in_layer) +
        " layers and KV heads stand in for the " + shape(plan.model.layers, plan.model.kv_heads) + " of " +
        plan.model.name +
        " (workload.extrapolation=shape). A layer keeps the tokens of the recorded layer at the same "
        "relative depth, and a head those of the recorded head at the same relative index. Layers and heads "
        "with the same stand-in keep the same tokens, so more blocks may be freed than in reality.");
    return Done{};
  }
  warnings.push_back("workload.attention drives no request: lengths determine how many tokens eviction=" +
                     std::string(s.eviction->name()) +
                     " keeps, and recordings of another shape add nothing.");
  plan.standing.reset();
  recordings.clear();
  replayed = false;
  return Done{};
}

}  // namespace

Result<TokenPlan> make_token_plan(const Scenario& s, const TokenPlanFiles& open,
                                  std::vector<std::string>& warnings, std::vector<std::string>& assumptions) {
  TokenPlan plan;
  plan.counted = s.evicts_by == EvictsBy::kCounts;
  bool replayed = s.evicts_by == EvictsBy::kRecordings ||
                  (plan.counted && !s.attention.empty() &&
                   (!attention::lengths_decide(named_policy(s).kind->traits(*s.eviction)) ||
                    (s.budget && attention::measures_scores(*s.budget))));
  const bool asked = replayed;
  plan.unrecorded = s.evicts_by == EvictsBy::kTokens;
  const auto table_per = memory::allocator_entry(s.allocator).table_per;
  const memory::TablePer per = table_per == nullptr ? memory::TablePer::kRequest : table_per(s.allocator);
  std::vector<Recorded> recordings;
  const bool has_model = s.model != nullptr || !s.model_file.empty();
  if (replayed || !has_model) {
    if (!open.recording) return bad_input("recordings cannot be read here").at_field("workload.attention");
    KVPLAN_TRY(recordings, open_recordings(s.attention, open.recording, warnings));
  }
  if (has_model) {
    const bool follows_windows = s.eviction && per != memory::TablePer::kRequest;
    KVPLAN_TRY(plan.model, named_model(s, follows_windows, open.model, assumptions));
    if (replayed && s.extrapolates_shape)
      KVPLAN_TRY_DO(set_standing(s, plan, recordings, replayed, warnings, assumptions));
    if (!plan.standing) KVPLAN_TRY_DO(check_group(named_policy(s), plan.model));
  } else {
    const attention::RecordingInfo& info = recordings.front().recording->info();
    KVPLAN_TRY(const std::int32_t group, attention::group_of(named_policy(s), info));
    KVPLAN_TRY(plan.model, model_of(info, info.layer(0).query_heads / group, assumptions));
    if (s.extrapolates_shape)
      warnings.emplace_back("workload.extrapolation is ignored: the model has the recordings' shape.");
  }
  if (s.attention.empty() && s.extrapolates_shape)
    warnings.emplace_back("workload.extrapolation is ignored: there are no recordings (workload.attention).");
  if (!s.attention.empty() && !asked)
    warnings.push_back("workload.attention drives no request: the number of tokens that eviction=" +
                       std::string(s.eviction ? s.eviction->name() : "full") +
                       " keeps does not depend on attention.");
  // One keep rule serves layers that all keep alike; beside windows, tables keep different tokens.
  const bool beside_windows =
      s.eviction && per != memory::TablePer::kRequest && plan.model.window_layers() > 0;
  if (s.eviction && (s.follows_courses() || beside_windows)) plan.policy = attention::policy_of(*s.eviction);
  plan.keep = plan.policy ? core::KeepRule{} : s.keep;
  KVPLAN_TRY(plan.placed, place_model(s, plan.model, open.side, warnings, assumptions));
  if (!plan.policy && per != memory::TablePer::kRequest)
    assumptions.emplace_back(
        "No policy evicts tokens of a single layer or head, so all block tables of a request "
        "(memory.allocator.table) are alike: they count as one.");
  if (plan.policy) {
    plan.placement = placement_of(*s.eviction);
    plan.reads_holes = s.engine_traits().reads_holes;
    if (s.budget) {
      KVPLAN_TRY(plan.budget, RunBudget::make(*s.budget, *plan.policy, plan.model, open.scores));
      note_budget(plan, assumptions);
    }
    const attention::PolicyTraits traits = plan.budget ? attention::traits_with_budget(*plan.policy)
                                                       : plan.policy->kind->traits(plan.policy->choice);
    plan.counts_by_steps = plan.counted && (traits.thins || (traits.count_at != nullptr && !traits.count));
    if (traits.head_tables) KVPLAN_TRY_DO(read_head_tables(plan, open.scores, assumptions));
    if (s.evicts_by == EvictsBy::kSets) KVPLAN_TRY_DO(read_sets(plan, open.sets));
    KVPLAN_TRY_DO(set_units(plan, per, replayed || plan.unrecorded));
    if (!s.encodes()) KVPLAN_TRY_DO(check_alike_widths(plan));
    note_tables(plan, per, assumptions);
    if (plan.counted && plan.by_head.empty())
      note_counts(plan, std::string(s.eviction->name()), replayed, warnings, assumptions);
  }
  if (plan.policy && !s.encodes())
    KVPLAN_TRY_DO(set_rank_tracks(plan, replayed || plan.unrecorded || s.evicts_by == EvictsBy::kSets));
  if (!s.encodes()) KVPLAN_TRY_DO(add_scales(plan));
  if (s.reader) {
    if (!plan.placed.of_token().by_layer.empty())
      return bad_input("layers have different bytes per token with " +
                       std::string(plan.placed.of_token().choice.name()) + ": expected reader=full, found " +
                       s.text("reader"))
          .at_field("reader");
    KVPLAN_TRY(plan.reader, run_reader(*s.reader, plan.model, plan.placed.bytes, open.scores));
    plan.units.metadata_bytes += plan.reader->metadata_bytes;
    for (std::string& sentence : plan.reader->assumptions()) assumptions.push_back(std::move(sentence));
    if (s.derives_pool && plan.reader->metadata_bytes > 0)
      assumptions.emplace_back("The start-up check of the pool ignores the metadata of sparse attention.");
  }
  if (s.encodes()) KVPLAN_TRY_DO(set_encoded(plan, assumptions));
  find_prefix_rule(s, plan);
  if (plan.unrecorded) plan.recordings.push_back(any_sequence(plan.model));
  if (!replayed) return plan;
  const bool for_rows = plan.policy->kind->traits(plan.policy->choice).needs_recording() ||
                        (plan.budget && plan.budget->measured());
  for (const Recorded& recorded : recordings)
    KVPLAN_TRY_DO(plan.standing ? check_whole(recorded, for_rows)
                                : check_shape(recorded, plan.model, *plan.policy, for_rows));
  plan.recordings = std::move(recordings);
  return plan;
}

namespace {

/// The same of the layers and heads of the plan's rank.
std::vector<std::vector<core::KeptCount>> counts_of_rank(const TokenPlan& plan, std::int64_t prompt,
                                                         const attention::Grants& grants) {
  const RankBytes& rank = plan.placed.bytes;
  const auto all = counts_by_layer(plan, prompt, grants);
  std::vector<std::vector<core::KeptCount>> out;
  for (std::int64_t l = rank.first_layer; l < rank.first_layer + rank.layers; ++l)
    out.push_back(share_of_rank(all[static_cast<std::size_t>(l)], rank.tensor_ranks));
  return out;
}

}  // namespace

std::vector<core::CountedUnits> counted_units_of(const TokenPlan& plan, std::int64_t prompt,
                                                 const attention::Grants& grants) {
  KVPLAN_CHECK(plan.counted, prompt);
  if (!plan.keeps_by_layer()) {
    const auto count = plan.policy->kind->traits(plan.policy->choice).count;
    return {{count.value_or(core::KeptCount{}), plan.units.per_token}};
  }
  std::vector<core::CountedUnits> out;
  for (const auto& layer : counts_of_rank(plan, prompt, grants))
    for (const core::KeptCount& kept : layer) {
      if (out.empty() || out.back().kept != kept) out.push_back({kept, 0});
      out.back().units +=
          plan.units.per_token / plan.placed.bytes.layers / static_cast<std::int64_t>(layer.size());
    }
  if (plan.ranks_may_differ() && plan.tables == 1) add_other_counts(plan, prompt, grants, 0, out);
  return out;
}

std::vector<KeptTokens> kept_encoded(const TokenPlan& plan, std::int64_t prompt,
                                     const attention::Grants& grants) {
  if (!plan.policy) return {};
  const attention::PolicyTraits traits = plan.policy->kind->traits(plan.policy->choice);
  const std::int64_t sinks = traits.interval ? traits.interval->sink : -1;
  if (!plan.keeps_by_layer()) return {{.count = *traits.count, .sinks = sinks}};
  std::vector<KeptTokens> out;
  for (const auto& layer : counts_of_rank(plan, prompt, grants))
    out.push_back({.count = layer.front(), .sinks = sinks});
  return out;
}

std::int64_t known_tracks(const TokenPlan& plan) {
  const bool by_position =
      plan.recordings.empty() && attention::lengths_decide(plan.policy->kind->traits(plan.policy->choice));
  if (!plan.counted) return plan.units.per_token;
  if (by_position && !(plan.ranks_may_differ() && ranks_differ(plan))) return plan.units.per_token;
  if (plan.recordings.empty() || plan.placed.bytes.ranks() > 1) return 0;
  return std::max(plan.tables, replayed_units(plan).per_token);
}

std::int64_t undriven_requests(const TokenPlan& plan, const core::Workload& workload) {
  if (plan.recordings.empty() || !plan.counts_undriven()) return 0;
  std::int64_t undriven = 0;
  for (const RequestId r : ids_below<RequestId>(workload.size()))
    undriven += plan.drives(workload, r) ? 0 : 1;
  return undriven;
}

namespace {

/// Is each of those requests one that the file's sets are of?
Status check_sets(const TokenPlan& plan, const core::Workload& workload, const core::Memory& memory,
                  std::int64_t most_tokens) {
  const attention::RecordedLayers& sets = *plan.policy->recorded;
  std::int64_t states = INT64_MAX;  // the fewest of a layer
  for (std::int32_t layer = 0; layer < plan.model.layers; ++layer)
    states = std::min<std::int64_t>(states, std::ssize(sets.of(layer)->after));
  std::int64_t others = 0;
  std::string first;
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    const std::size_t i = index(r);
    // Nothing is dropped after the last token, nor after the one that is sampled last.
    const bool told = workload.input[i] == sets.prompt && workload.output[i] <= states + 1;
    if (told || !core::is_served(workload, r, most_tokens, memory)) continue;
    if (++others == 1)
      first = "request " + std::to_string(number(r)) + " has " + std::to_string(workload.input[i]) + " and " +
              std::to_string(workload.output[i]);
  }
  if (others == 0) return Done{};
  return bad_input("expected requests with the prompt length of the sets, " + std::to_string(sets.prompt) +
                   " tokens, and with at most " + std::to_string(states + 1) + " of output: " + first +
                   (others > 1 ? "; the same holds for " + std::to_string(others) + " requests" : ""))
      .at_field("eviction: " + std::string(plan.policy->choice.name()) + ":file");
}

}  // namespace

Status check_recordings(const TokenPlan& plan, const core::Workload& workload, const core::Memory& memory,
                        std::int64_t most_tokens) {
  if (plan.policy && plan.policy->recorded != nullptr) return check_sets(plan, workload, memory, most_tokens);
  if (plan.recordings.empty() || plan.counts_undriven()) return Done{};
  std::int64_t undriven = 0;
  std::string first;
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    if (plan.drives(workload, r) || !core::is_served(workload, r, most_tokens, memory)) continue;
    const Recorded& recorded = plan.recordings[index(r) % plan.recordings.size()];
    if (++undriven == 1)
      first = "request " + std::to_string(number(r)) + " needs " + std::to_string(workload.final_tokens(r)) +
              " tokens (prompt + output - 1), " + recorded.name + " has " + std::to_string(recorded.tokens);
  }
  if (undriven == 0) return Done{};
  return bad_input("expected longer recordings: " + first +
                   (undriven > 1 ? "; the same holds for " + std::to_string(undriven) + " requests" : ""))
      .at_field("workload.attention");
}

}  // namespace kvplan::plan
