#include "simulator/formats/evaluation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "simulator/attention/kernels.h"
#include "simulator/formats/attention_output.h"
#include "simulator/formats/evaluation_checks.h"
#include "simulator/formats/eviction.h"
#include "simulator/formats/rotation.h"
#include "simulator/formats/small_floats.h"

namespace kvplan::formats {
namespace {

using attention::LayerTensors;

/// FNV-1a, 64 bits.
class CodeDigest {
 public:
  void add(std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) hash_ = (hash_ ^ ((number >> (8 * i)) & 0xFF)) * 0x100000001B3ULL;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_{0xCBF29CE484222325ULL};
};

/// Tensors of the layers that formats store together with the evaluated layer.
using OtherLayers = std::map<std::int64_t, LayerTensors>;

Result<OtherLayers> other_tensors(const attention::Recording& recording,
                                  std::span<const EvaluationRequest> requests) {
  OtherLayers out;
  for (const EvaluationRequest& request : requests)
    for (const std::int64_t other : other_layers(request.format)) {
      if (out.contains(other)) continue;
      KVPLAN_TRY(LayerTensors tensors, recording.tensors(request.sequence, static_cast<std::int32_t>(other)));
      const Status good = check_numbers(tensors);
      if (!good.ok())
        return Error(good.error()).at_field("layer " + std::to_string(other) + ": " + good.error().field);
      out.emplace(other, std::move(tensors));
    }
  return out;
}

/// Data that all requests of a layer share.
struct Shared {
  explicit Shared(const LayerTensors& tensors) : in(tensors), output(tensors) {}
  /// The rows by which policies decide.
  attention::LayerRows& rows() { return recorded != nullptr ? *recorded : output.rows(); }
  /// How keys are rotated; made when a format first needs it.
  const Rotation& rotation() {
    if (!turning) turning.emplace(in);
    return *turning;
  }

  const LayerTensors& in;
  AttentionOutput output;
  std::optional<Rotation> turning;
  std::unique_ptr<attention::LayerRows>
      recorded;  ///< rows as they were recorded, where a policy is to see those
};

class Run {
 public:
  /// `others`: the tensors of the layers that the format stores with this one.
  Run(Shared& shared, const EvaluationRequest& request, std::unique_ptr<Eviction> eviction,
      std::vector<const LayerTensors*> others)
      : shared_(shared),
        in_(shared.in),
        others_(std::move(others)),
        request_(request),
        eviction_(std::move(eviction)),
        shape_{.query_heads = in_.query_heads,
               .kv_heads = in_.kv_heads,
               .key_size = in_.key_size,
               .value_size = in_.value_size},
        rotation_(request.format.before_rotation() ? &shared.rotation() : nullptr),
        codec_(make_codec(request.format, shape_)) {}

  /// True if `decide` must be called for each token of the prompt.
  [[nodiscard]] bool watches_prompt() const {
    return eviction_ != nullptr || codec_->weight_use() != WeightUse::kNone;
  }
  /// The next token of the prompt.
  Status decide(std::int64_t t) {
    if (codec_->weight_use() == WeightUse::kSums ||
        (codec_->weight_use() == WeightUse::kNewest && t + 1 == request_.prompt))
      KVPLAN_TRY_DO(add_weights(t));
    return eviction_ == nullptr ? Status(Done{}) : eviction_->step(shared_.rows());
  }

  void end_prompt() {
    appended_.resize(static_cast<std::size_t>(heads()));
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) {
      std::vector<std::int64_t> positions(static_cast<std::size_t>(request_.prompt));
      std::iota(positions.begin(), positions.end(), std::int64_t{0});
      if (request_.format.kind->whole_prompt) append(h, positions);
      if (eviction_ != nullptr) positions.assign(eviction_->kept(h).begin(), eviction_->kept(h).end());
      if (!request_.format.kind->whole_prompt) append(h, positions);
      out_.retained.push_back(std::move(positions));
    }
    // The same tokens are dropped in all layers that are stored together.
    for (std::int32_t h = in_.kv_heads; h < heads(); ++h)
      append(h, out_.retained[static_cast<std::size_t>(h % in_.kv_heads)]);
    commit();
    for (std::size_t h = 0; h < prompt_weights_.size(); ++h)
      codec_->attended(static_cast<std::int32_t>(h), prompt_weights_[h]);
    if (request_.format.kind->whole_prompt && eviction_ != nullptr) merge_prompt();
    codec_->end_prompt({.tokens = request_.prompt, .heads = in_.queries});
    out_.after_prompt = bytes();
    out_.summary.peak_bytes = out_.after_prompt.total();
    out_.checkpoints[0] = checkpoint(request_.prompt);
  }

  Result<StepResult> step(std::int64_t t) {
    if (eviction_ != nullptr && eviction_->makes_room()) {
      KVPLAN_TRY_DO(eviction_->step(shared_.rows()));
      drop();
    }
    for (std::int32_t h = 0; h < heads(); ++h) append(h, std::span(&t, 1));
    commit();
    AttentionOutput& output = shared_.output;
    const std::int64_t at_attend = bytes().total();
    output.compare(t, *codec_, rotation_);
    StepResult result{.t = t,
                      .bytes = {},
                      .total_at_attend = at_attend,
                      .output_error = output.output_error(),
                      .attended_mass = output.attended_mass(),
                      .logit_error = output.logit_error()};
    if (codec_->weight_use() != WeightUse::kNone)
      for (std::int32_t h = 0; h < in_.kv_heads; ++h) codec_->attended(h, output.weights(h));
    codec_->end_step();
    if (eviction_ != nullptr && !eviction_->makes_room()) {
      KVPLAN_TRY_DO(eviction_->step(shared_.rows()));
      drop();
    }
    result.bytes = bytes();
    out_.summary.peak_bytes =
        std::max({out_.summary.peak_bytes, result.total_at_attend, result.bytes.total()});
    add(result);
    return result;
  }

  void keep(StepResult step) { out_.steps.push_back(std::move(step)); }

  Evaluation finish() {
    out_.checkpoints[1] = checkpoint(in_.tokens);
    EvaluationSummary& s = out_.summary;
    s.final_bytes = bytes().total();
    s.full_bytes = std::int64_t{2} * in_.kv_heads * in_.tokens * (in_.key_size + in_.value_size);
    std::int64_t tokens = 0;
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) {
      tokens += codec_->plane(Side::kKeys, h).tokens();
      for (const Side side : kSides) s.stored_writes += codec_->plane(side, h).writes();
    }
    if (tokens > 0)
      s.bytes_per_stored_token = static_cast<double>(s.final_bytes) /
                                 (static_cast<double>(tokens) / static_cast<double>(in_.kv_heads));
    if (steps_ > 0)
      s.mean_output_error = error_sum_ / (static_cast<double>(steps_) * static_cast<double>(in_.query_heads));
    return std::move(out_);
  }

 private:
  /// The layer's own KV heads, then those of other layers.
  [[nodiscard]] std::int32_t heads() const {
    return in_.kv_heads * (1 + static_cast<std::int32_t>(others_.size()));
  }
  [[nodiscard]] const std::vector<float>& tensor_of(Side side, std::int32_t head) const {
    const auto other = static_cast<std::size_t>(head / in_.kv_heads);
    return recorded(other == 0 ? in_ : *others_[other - 1], side, head % in_.kv_heads);
  }

  void append(std::int32_t head, std::span<const std::int64_t> positions) {
    auto& rows = appended_[static_cast<std::size_t>(head)];
    rows.positions.assign(positions.begin(), positions.end());
    for (const Side side : kSides) {
      auto& to = side == Side::kKeys ? rows.keys : rows.values;
      const auto size = static_cast<std::ptrdiff_t>(shape_.size(side));
      to.clear();
      for (const std::int64_t position : positions) {
        const auto from = tensor_of(side, head).begin() + static_cast<std::ptrdiff_t>(position) * size;
        to.insert(to.end(), from, from + size);
        if (rotation_ != nullptr && side == Side::kKeys)
          rotation_->turn_back(position, std::span(to).last(static_cast<std::size_t>(size)));
      }
    }
  }
  void commit() {
    std::vector<HeadTokens> heads;
    heads.reserve(appended_.size());
    for (const Rows& rows : appended_) heads.push_back({rows.positions, rows.keys, rows.values});
    codec_->append(heads);
  }

  void add(const StepResult& step) {
    EvaluationSummary& s = out_.summary;
    ++steps_;
    for (const double error : step.output_error) {
      error_sum_ += error;
      s.max_output_error = std::max(s.max_output_error.value_or(0), error);
    }
    for (const double error : step.logit_error)
      s.max_logit_error = std::max(s.max_logit_error.value_or(0), error);
  }

  /// Drops the tokens that the policy's last step dropped, if the format still stores them.
  void drop() {
    std::vector<std::vector<std::int32_t>> gone(static_cast<std::size_t>(heads()));
    for (std::int32_t h = 0; h < heads(); ++h) {
      const auto positions = codec_->positions(h);
      std::vector<std::int32_t>& indices = gone[static_cast<std::size_t>(h)];
      for (const std::int32_t position : eviction_->dropped(h % in_.kv_heads)) {
        const auto at = std::lower_bound(positions.begin(), positions.end(), position);
        if (at != positions.end() && *at == position)
          indices.push_back(static_cast<std::int32_t>(at - positions.begin()));
      }
    }
    codec_->drop(gone);
  }

  /// Merges the tokens of the whole prompt that the policy does not keep.
  void merge_prompt() {
    std::vector<std::vector<std::int32_t>> gone(static_cast<std::size_t>(heads()));
    for (std::size_t h = 0; h < gone.size(); ++h) {
      const auto& kept = out_.retained[h];
      for (std::int64_t t = 0; t < request_.prompt; ++t)
        if (!std::binary_search(kept.begin(), kept.end(), t)) gone[h].push_back(static_cast<std::int32_t>(t));
    }
    codec_->drop(gone);
  }

  /// Adds the attention weights of the query of t, in the full cache, to the prompt's tokens up to t.
  Status add_weights(std::int64_t t) {
    attention::LayerRows& rows = shared_.output.rows();
    KVPLAN_TRY_DO(rows.seek(t));
    prompt_weights_.resize(static_cast<std::size_t>(in_.kv_heads),
                           std::vector<double>(static_cast<std::size_t>(request_.prompt)));
    for (std::int32_t q = 0; q < in_.query_heads; ++q)
      attention::accumulate({rows.row(q).f64, static_cast<std::size_t>(t) + 1}, shape_.group(),
                            std::span(prompt_weights_[static_cast<std::size_t>(q / shape_.group())])
                                .first(static_cast<std::size_t>(t) + 1));
    return Done{};
  }

  /// The numbers that the format was given for a token of one of the layer's own heads.
  [[nodiscard]] std::vector<double> given(Side side, std::int32_t head, std::int64_t position) const {
    const auto size = static_cast<std::ptrdiff_t>(shape_.size(side));
    const auto from = recorded(in_, side, head).begin() + static_cast<std::ptrdiff_t>(position) * size;
    std::vector<double> out(from, from + size);
    if (rotation_ != nullptr && side == Side::kKeys) rotation_->turn_back(position, out);
    return out;
  }

  [[nodiscard]] LayerBytes bytes() const {
    return {.keys = codec_->regions(Side::kKeys), .values = codec_->regions(Side::kValues)};
  }

  [[nodiscard]] HeadState state(Side side, std::int32_t head) const {
    const Plane& plane = codec_->plane(side, head);
    const auto positions = codec_->positions(head);
    const auto size = static_cast<std::size_t>(plane.size());
    const CodeForm form = codec_->code_form();
    HeadState out;
    out.tokens = plane.tokens();
    if (!positions.empty()) out.first_position = positions.front();
    CodeDigest stored;
    CodeDigest codes;
    double sum = 0;
    double square = 0;
    double whole = 0;
    for (std::int32_t i = 0; i < plane.tokens(); ++i) {
      const auto values = plane.stored(i);
      const std::vector<double> x = given(side, head, positions[static_cast<std::size_t>(i)]);
      for (std::size_t c = 0; c < size; ++c) {
        const double was = x[c];
        const double error = std::fabs(was - values[c]);
        out.max_abs_error = std::max(out.max_abs_error, error);
        sum += error;
        square += error * error;
        whole += was * was;
        stored.add(std::bit_cast<std::uint64_t>(values[c] + 0.0), 8);  // -0 + 0 is +0
      }
      if (form == CodeForm::kNone || plane.block(i) == Plane::kExact) continue;
      ++out.encoded;
      if (form == CodeForm::kLabels) {
        codes.add(static_cast<std::uint32_t>(plane.block(i)), 4);
      } else {
        for (const std::uint8_t code : plane.codes(i)) codes.add(code, 1);
      }
    }
    if (out.tokens > 0)
      out.mean_abs_error = sum / (static_cast<double>(out.tokens) * static_cast<double>(size));
    if (square > 0) out.relative_frobenius = std::sqrt(square) / std::sqrt(whole);
    if (request_.format.kind->exactness == Exactness::kExact) out.stored_digest = stored.value();
    if (out.encoded > 0) out.codes_digest = codes.value();
    return out;
  }

  [[nodiscard]] std::optional<ProbeResult> show(const Probe& probe) const {
    const auto positions = codec_->positions(probe.head);
    const auto at = std::lower_bound(positions.begin(), positions.end(), probe.position);
    if (at == positions.end() || *at != probe.position) return std::nullopt;
    const auto index = static_cast<std::int32_t>(at - positions.begin());
    const Plane& plane = codec_->plane(probe.side, probe.head);
    const auto channel = static_cast<std::size_t>(probe.channel);
    return ProbeResult{.probe = probe,
                       .recorded = given(probe.side, probe.head, probe.position)[channel],
                       .stored = plane.stored(index)[channel],
                       .coded = codec_->coded(probe.side, probe.head, index, probe.channel)};
  }

  [[nodiscard]] Checkpoint checkpoint(std::int64_t tokens) const {
    Checkpoint out;
    out.tokens = tokens;
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < in_.kv_heads; ++h)
        out.heads[static_cast<std::size_t>(side)].push_back(state(side, h));
    for (const Probe& probe : request_.probes) out.probes.push_back(show(probe));
    return out;
  }

  struct Rows {
    std::vector<std::int64_t> positions;
    std::vector<double> keys;
    std::vector<double> values;
  };

  Shared& shared_;
  const LayerTensors& in_;
  std::vector<const LayerTensors*> others_;
  const EvaluationRequest& request_;
  std::unique_ptr<Eviction> eviction_;  ///< may be null
  Shape shape_;
  const Rotation* rotation_;  ///< set if keys are stored before rotation; else null
  std::unique_ptr<Codec> codec_;
  /// [KV head][token]; used if the codec needs attention weights
  std::vector<std::vector<double>> prompt_weights_;
  std::vector<Rows> appended_;  ///< [KV head], those of other layers last
  Evaluation out_;
  std::int64_t steps_{0};
  double error_sum_{0};
};

}  // namespace

Result<std::vector<Evaluation>> evaluate_together(const attention::Recording& recording,
                                                  std::span<const EvaluationRequest> requests,
                                                  const StepSink& told, const Pause& pause) {
  KVPLAN_CHECK(!requests.empty());
  const EvaluationRequest& place = requests.front();
  for (const EvaluationRequest& request : requests) {
    KVPLAN_CHECK(
        request.prompt == place.prompt && request.sequence == place.sequence && request.layer == place.layer,
        request.prompt, request.sequence, request.layer);
    KVPLAN_TRY_DO(check_place(recording, request));
    KVPLAN_TRY_DO(check_format_of(recording, request));
  }
  KVPLAN_TRY(const LayerTensors tensors, recording.tensors(place.sequence, place.layer));
  for (const EvaluationRequest& request : requests)
    KVPLAN_TRY_DO(check_format(request.format,
                               {.query_heads = tensors.query_heads,
                                .kv_heads = tensors.kv_heads,
                                .key_size = tensors.key_size,
                                .value_size = tensors.value_size},
                               place.prompt));
  KVPLAN_TRY_DO(check_numbers(tensors));
  KVPLAN_TRY(const OtherLayers other_layers_of, other_tensors(recording, requests));
  Shared shared(tensors);
  std::vector<Run> runs;
  runs.reserve(requests.size());
  bool evicts = false;
  bool watches = false;
  for (const EvaluationRequest& request : requests) {
    std::unique_ptr<Eviction> eviction;
    if (request.evict) {
      KVPLAN_TRY(eviction, Eviction::make(recording, *request.evict, place.prompt, place.sequence,
                                          place.layer, request.stop_asked));
      evicts = true;
    }
    std::vector<const LayerTensors*> others;
    for (const std::int64_t other : other_layers(request.format))
      others.push_back(&other_layers_of.at(other));
    runs.emplace_back(shared, request, std::move(eviction), std::move(others));
    watches = watches || runs.back().watches_prompt();
  }
  const attention::PartSet parts = recording.info().layer(place.layer).parts;
  if (evicts && (parts.has(attention::Part::kRows) || parts.has(attention::Part::kTopRows))) {
    KVPLAN_TRY(shared.recorded, recording.open(place.sequence, place.layer));
  }
  for (std::int64_t t = 0; watches && t < place.prompt; ++t) {
    KVPLAN_TRY_DO(pause());
    for (Run& run : runs) KVPLAN_TRY_DO(run.decide(t));
  }
  for (Run& run : runs) run.end_prompt();
  for (std::int64_t t = place.prompt; t < tensors.tokens; ++t) {
    KVPLAN_TRY_DO(pause());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      KVPLAN_TRY(StepResult step, runs[i].step(t));
      if (told) {
        told(i, step);
      } else {
        runs[i].keep(std::move(step));
      }
    }
  }
  std::vector<Evaluation> out;
  for (Run& run : runs) out.push_back(run.finish());
  return out;
}

Result<Evaluation> evaluate(const attention::Recording& recording, const EvaluationRequest& request,
                            const Pause& pause) {
  KVPLAN_TRY(auto found, evaluate_together(recording, std::span(&request, 1), nullptr, pause));
  return std::move(found.front());
}

}  // namespace kvplan::formats
