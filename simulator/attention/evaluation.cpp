#include "simulator/attention/evaluation.h"

#include <algorithm>
#include <utility>

#include "simulator/attention/cell_metadata.h"

namespace kvplan::attention {
namespace {

/// Bytes of cells and of metadata for `tokens` tokens in each KV head of a set.
struct CellBytes {
  std::int64_t cell{0};  ///< key and value
  CellMetadata beside;

  [[nodiscard]] std::int64_t metadata(std::int64_t tokens, std::int64_t heads) const {
    return tokens * beside.of_token(heads);
  }
};

CellBytes cell_bytes(const PolicyChoice& policy, const PolicyTraits& traits, const LayerInfo& layer,
                     std::int32_t element_bytes) {
  return {.cell = std::int64_t{layer.key_size + layer.value_size} * element_bytes,
          .beside = cell_metadata(policy, traits)};
}

Status check_place(const Recording& recording, const LayerRun& request) {
  KVPLAN_TRY_DO(check_recorded_layer(recording, request.sequence, request.layer));
  const std::int64_t tokens = recording.tokens(request.sequence, request.layer);
  if (request.prompt < 1 || request.prompt > tokens)
    return bad_input("expected 1 to " + std::to_string(tokens) + " for this recording, found " +
                     std::to_string(request.prompt))
        .at_field("--prefill");
  if (recording.info().layer(request.layer).has_rows()) return Done{};
  return bad_input("layer " + std::to_string(request.layer) +
                   " has neither attention rows nor the queries and keys to compute them")
      .at_field("--layer");
}

/// Sums over the run.
class Totals {
 public:
  Totals(CellBytes cells, std::int32_t kv_heads) : cells_(cells), kv_heads_(kv_heads) {}

  void add(const LayerReplay& replay, bool decoding, EvaluationSummary& out) {
    const std::int64_t heads = kv_heads_ / replay.sets();
    std::int64_t bytes = 0;
    for (std::int32_t s = 0; s < replay.sets(); ++s) {
      const std::int64_t n = replay.attended_entries(s);
      bytes += n * heads * cells_.cell + cells_.metadata(n, heads);
      out.peak_entries = std::max(out.peak_entries, n);
      if (decoding) out.peak_decode_entries = std::max(out.peak_decode_entries, n);
    }
    out.peak_bytes = std::max(out.peak_bytes, bytes);
    if (!decoding) return;
    ++out.steps;
    for (std::size_t h = 0; h < replay.attended_mass().size(); ++h) {
      const double mass = replay.attended_mass()[h];
      mass_ += mass;
      ++masses_;
      if (!out.min_mass || mass < *out.min_mass) {
        out.min_mass = mass;
        out.min_mass_t = replay.tokens() - 1;
        out.min_mass_head = static_cast<std::int32_t>(h);
      }
    }
    for (const double error : replay.output_error()) {
      error_ += error;
      ++errors_;
      out.max_output_error = std::max(out.max_output_error.value_or(0.0), error);
    }
  }

  void finish(const LayerReplay& replay, EvaluationSummary& out) const {
    const std::int64_t heads = kv_heads_ / replay.sets();
    for (std::int32_t s = 0; s < replay.sets(); ++s) {
      const auto n = static_cast<std::int64_t>(replay.kept(s).size());
      out.entries += n * heads;
      out.metadata_bytes += cells_.metadata(n, heads);
    }
    out.bytes = out.entries * cells_.cell + out.metadata_bytes;
    out.full_bytes = replay.tokens() * kv_heads_ * cells_.cell;
    if (masses_ > 0) out.mean_mass = mass_ / static_cast<double>(masses_);
    if (errors_ > 0) out.mean_output_error = error_ / static_cast<double>(errors_);
  }

 private:
  CellBytes cells_;
  std::int32_t kv_heads_;
  double mass_{0};
  double error_{0};
  std::int64_t masses_{0};
  std::int64_t errors_{0};
};

/// Counts the retained tokens of each class.
class ClassCounts {
 public:
  ClassCounts(std::vector<std::uint8_t> classes, std::size_t count)
      : classes_(std::move(classes)), fed_(count), kept_(count) {}
  [[nodiscard]] static std::vector<ClassShare> none_yet(const RecordingInfo& info) {
    std::vector<ClassShare> out;
    for (const std::string& name : info.token_classes) out.push_back({.name = name});
    return out;
  }

  [[nodiscard]] bool any() const { return !classes_.empty(); }
  void feed(std::int64_t t) {
    if (any()) ++fed_[classes_[static_cast<std::size_t>(t)]];
  }
  void add(const LayerReplay& replay, std::int32_t kv_heads, std::vector<ClassShare>& out) {
    for (std::int32_t s = 0; s < replay.sets(); ++s) {
      std::fill(kept_.begin(), kept_.end(), 0);
      for (const std::int32_t position : replay.reported(s))
        ++kept_[classes_[static_cast<std::size_t>(position)]];
      const std::int64_t heads = kv_heads / replay.sets();
      for (std::size_t c = 0; c < fed_.size(); ++c) {
        if (fed_[c] == 0) continue;
        out[c].shares +=
            static_cast<double>(heads) * static_cast<double>(kept_[c]) / static_cast<double>(fed_[c]);
        out[c].states += heads;
      }
    }
  }

 private:
  std::vector<std::uint8_t> classes_;  ///< [token]
  std::vector<std::int64_t> fed_;      ///< [class]
  std::vector<std::int64_t> kept_;
};

void note_assumptions(const RecordingInfo& info, const LayerInfo& layer, const PolicyChoice& policy,
                      EvaluationSummary& out) {
  if (info.sizes_assumed)
    out.assumptions.push_back(
        "The recording does not say how many bytes a cached token takes; kvplan assumes " +
        std::to_string(layer.key_size) + " + " + std::to_string(layer.value_size) + " elements of " +
        std::to_string(info.cache_element_bytes) + " bytes per KV head and token.");
  if (layer.query_heads < layer.model_query_heads)
    out.assumptions.push_back(
        "In layer " + std::to_string(layer.layer) + ", only KV heads " +
        ranges_text(layer.recorded_kv_heads) +
        " were recorded. Token sets, masses and bytes are those of these heads, in this order.");
  if (layer.parts.has(Part::kTopRows))
    out.assumptions.emplace_back(
        "Only the largest weights of each row were recorded. kvplan spreads the remaining mass evenly over "
        "the other tokens.");
  if (policy.kind->traits(policy.choice).moves_positions)
    out.assumptions.push_back("Positions are frozen: the public code of " +
                              std::string(policy.choice.name()) +
                              " moves the kept keys to new positions, which changes their logits; kvplan "
                              "keeps the recorded positions.");
}

/// One policy of a run, with its results until now.
struct Lane {
  LayerReplay replay;
  Totals totals;
  EvaluationSummary summary;
};

Result<Lane> lane_of(const Recording& recording, const LayerRun& run, const PolicyChoice& policy) {
  const RecordingInfo& info = recording.info();
  EvaluationSummary summary;
  const LayerInfo layer = info.layer(run.layer);
  KVPLAN_TRY(summary.group, group_of(policy, layer));
  KVPLAN_TRY_DO(check_tensors(policy, layer, summary.group));
  summary.kv_heads = layer.query_heads / summary.group;
  const LayerPlace place = place_of(info, run.layer, summary.group, run.prompt);
  const std::int64_t tokens = recording.tokens(run.sequence, run.layer);
  KVPLAN_TRY_DO(check_tables(policy, info));
  KVPLAN_TRY_DO(check_recorded_for(policy, place, tokens));
  LayerReplay replay(policy, place, true, run.stop_asked);
  KVPLAN_TRY_DO(replay.foresee(recording, run.sequence, tokens));
  const Totals totals(cell_bytes(policy, replay.traits(), layer, info.cache_element_bytes), summary.kv_heads);
  return Lane{.replay = std::move(replay), .totals = totals, .summary = std::move(summary)};
}

}  // namespace

Result<std::vector<EvaluationSummary>> evaluate_together(const Recording& recording, const LayerRun& run,
                                                         std::span<const PolicyChoice> policies,
                                                         const TogetherObserver& observer) {
  KVPLAN_TRY_DO(check_place(recording, run));
  const RecordingInfo& info = recording.info();
  const LayerInfo layer = info.layer(run.layer);
  std::vector<LayerReplay> replays;
  std::vector<Totals> totals;
  std::vector<EvaluationSummary> out;
  for (const PolicyChoice& policy : policies) {
    KVPLAN_TRY(Lane lane, lane_of(recording, run, policy));
    replays.push_back(std::move(lane.replay));
    totals.push_back(lane.totals);
    out.push_back(std::move(lane.summary));
  }
  KVPLAN_TRY(const auto rows, recording.open(run.sequence, run.layer));
  KVPLAN_TRY(auto of_tokens, recording.token_classes(run.sequence));
  ClassCounts classes(std::move(of_tokens), info.token_classes.size());
  if (classes.any())
    for (EvaluationSummary& summary : out) summary.classes = ClassCounts::none_yet(info);
  const std::int64_t tokens = recording.tokens(run.sequence, run.layer);
  FullOutputs full;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const bool reads = std::any_of(replays.begin(), replays.end(),
                                   [t](const LayerReplay& replay) { return replay.needs_rows(t); });
    if (reads) KVPLAN_TRY_DO(rows->seek(t));
    classes.feed(t);
    for (std::size_t i = 0; i < replays.size(); ++i) {
      replays[i].step(reads ? rows.get() : nullptr, &full);
      totals[i].add(replays[i], t >= run.prompt, out[i]);
      if (classes.any() && t >= run.prompt - 1) classes.add(replays[i], out[i].kv_heads, out[i].classes);
    }
    if (t == run.prompt - 1 && run.stop_asked && run.stop_asked()) return interrupted_error();
    if (t >= run.prompt - 1) KVPLAN_TRY_DO(observer(replays, *rows));
  }
  for (std::size_t i = 0; i < replays.size(); ++i) {
    totals[i].finish(replays[i], out[i]);
    if (out[i].min_mass_head >= 0) out[i].min_mass_head = layer.model_query_head(out[i].min_mass_head);
    note_assumptions(info, layer, policies[i], out[i]);
  }
  return out;
}

Result<EvaluationSummary> evaluate(const Recording& recording, const EvaluationRequest& request,
                                   const EvaluationObserver& observer) {
  KVPLAN_TRY(auto all,
             evaluate_together(
                 recording, {.prompt = request.prompt, .sequence = request.sequence, .layer = request.layer},
                 std::span(&request.policy, 1),
                 [&](std::span<const LayerReplay> replays, const LayerRows& /*rows*/) -> Status {
                   return observer(replays.front());
                 }));
  return std::move(all.front());
}

}  // namespace kvplan::attention
