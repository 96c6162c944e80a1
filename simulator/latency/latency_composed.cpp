// The duration of a step is the sum of its parts, on one rank of each stage:
//
//   weights    parts/weights_part.h    reading or multiplying, whichever is longer; experts by batch
//   attention  parts/attention_part.h  measured kernels if there are tables, and prompts
//   links      parts/links_part.h      what tensor-parallel ranks and stages send each other
//   starts     a time for each kernel of a layer beside attention (9: norms, four products, rotary embedding, cache
//              write, activation, as in vllm-project/vllm v0.15.1, model_executor/models/llama.py; 3 more with
//              experts: router, choice, sum), and one for each step
//
// In a run of decode steps only attention changes, along straight pieces; a series ends where it bends.
#include <algorithm>
#include <array>

#include "simulator/latency/affine_ticks.h"
#include "simulator/latency/latencies.h"
#include "simulator/latency/parts/attention_part.h"
#include "simulator/latency/parts/links_part.h"
#include "simulator/latency/parts/weights_part.h"

namespace kvplan::latency::latency_composed {
namespace {

constexpr std::int64_t kKernels = 9, kExpertKernels = 3;

/// The step that a report describes as an example.
constexpr std::int64_t kExampleRequests = 32, kExampleTokens = 2048;

Ticks cut(Wide ticks) {
  return {ticks > core::kLongestStepTicks ? core::kLongestStepTicks : static_cast<std::int64_t>(ticks)};
}

/// Milliseconds with three decimals.
std::string ms_text(Wide ticks) {
  const std::int64_t us = ns_floor(cut(ticks)) / 1000;
  std::string rest = std::to_string(us % 1000);
  return std::to_string(us / 1000) + "." + std::string(3 - rest.size(), '0') + rest + " ms";
}

/// Does any layer store keys and values by head, as the tables need?
bool has_heads(const model::ModelShape& shape) {
  return std::any_of(shape.runs.begin(), shape.runs.end(),
                     [](const model::LayerRun& run) { return run.cache.kind == model::CacheKind::kHeads; });
}

struct Parts {
  WeightsPart weights;
  LinksPart links;
  std::unique_ptr<AttentionPart> attention;
  std::unique_ptr<AttentionPart> without_tables;  ///< null if there are tables
  std::int64_t starts{0};                         ///< ticks
  double moved_bytes_per_tick{0};
};

class Composed final : public core::LatencyModel {
 public:
  /// `calibrated`: device of the tables, if they are those of a calibration; else empty.
  Composed(Parts parts, const StepShape& shape, std::string engine, std::string calibrated)
      : parts_(std::move(parts)),
        calibrated_(std::move(calibrated)),
        device_(shape.device.name),
        engine_(std::move(engine)),
        reads_part_(!shape.partly.empty()),
        latent_(!has_heads(shape.model)),
        experts_(shape.model.weight_shape.experts) {}

  [[nodiscard]] Ticks step(const core::StepLoad& load) const override {
    return cut(beside_attention(load) + parts_.attention->ticks(load));
  }

  /// Step by step where more tokens are computed in each (nothing is kept), and where measured times fall.
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& load, const core::LoadGrowth& more,
                                               std::int64_t max_steps) const override {
    const Ticks first = step(load);
    if (more.tokens != 0 || more.pairs_growth != 0 || more.attention_pairs != more.context_tokens)
      return {first, Ticks{0}, 1};
    const AttentionPart::Linear line = parts_.attention->linear(load, more, max_steps);
    if (line.growth < 0 || line.growth > core::kLongestStepTicks) return {first, Ticks{0}, 1};
    const auto growth = static_cast<std::int64_t>(line.growth);
    return {first, Ticks{growth}, steps_below_cut(first, growth, line.steps)};
  }

  [[nodiscard]] Ticks moving(std::int64_t bytes) const override {
    return moving_ticks(bytes, parts_.moved_bytes_per_tick);
  }

  [[nodiscard]] std::vector<std::string> assumptions() const override {
    std::vector<std::string> out{attention_sentence(), rest_sentence()};
    if (const std::string sent = links_sentence(); !sent.empty()) out.push_back(sent);
    out.push_back(example_sentence());
    return out;
  }

 private:
  [[nodiscard]] Wide beside_attention(const core::StepLoad& load) const {
    return parts_.starts + parts_.weights.ticks(load.tokens, load.requests) +
           parts_.links.ticks(load.tokens, load.requests);
  }

  [[nodiscard]] std::string attention_sentence() const {
    const kernels::DecodeTimes& tables = parts_.attention->tables();
    if (tables.empty())
      return "Decode attention time is a roofline estimate from the figures of " + device_ +
             ": no table has " +
             (latent_ ? "kernels for latent vectors." : "kernels of " + engine_ + " on it.");
    std::string kernels;
    for (const std::string& name : tables.kernels()) kernels += (kernels.empty() ? "" : ", ") + name;
    const kernels::DecodeTimes::Reach reach = tables.reach();
    return "Decode attention time comes from tables of " + engine_ + " " + tables.engine_version() + " on " +
           (calibrated_.empty() ? device_ : calibrated_) + " (" + kernels + "; " +
           (calibrated_.empty() ? "NVIDIA AIConfigurator" : "a calibration") + "). The tables cover up to " +
           std::to_string(reach.batch) + " requests and from " + std::to_string(reach.first_length) + " to " +
           std::to_string(reach.last_length) +
           " tokens per request; other calls are interpolated or extrapolated. A batch of requests with "
           "different lengths is looked up by its total number of tokens.";
  }

  [[nodiscard]] std::string rest_sentence() const {
    std::string text =
        "Times of matrix products, prefill attention and kernel launches are computed from the figures of " +
        device_ + " with assumed efficiencies and overheads; they were not measured.";
    if (experts_ > 0)
      text += " A layer has " + std::to_string(experts_) +
              " experts; kvplan assumes that each token picks its experts uniformly and independently, and "
              "that a step reads only the weights of the picked experts.";
    return text;
  }

  [[nodiscard]] std::string links_sentence() const {
    const std::string& within = parts_.links.within_stage();
    const std::string& between = parts_.links.between_stages();
    std::string text;
    if (!within.empty()) text = "Tensor-parallel ranks all-reduce in rings at " + within;
    if (!between.empty())
      text += (text.empty() ? "Pipeline stages send " : ", pipeline stages send ") +
              std::string("hidden states at ") + between + ", and the next step waits for the last stage";
    if (!text.empty())
      text +=
          ". Link rates are an assumed share of published rates, and link latencies come from NCCL's tuning "
          "table.";
    return text;
  }

  [[nodiscard]] std::string example_sentence() const {
    const std::int64_t context = kExampleRequests * (kExampleTokens - 1);
    const core::StepLoad load{.requests = kExampleRequests,
                              .tokens = kExampleRequests,
                              .context_tokens = context,
                              .attention_pairs = context + kExampleRequests};
    std::string text =
        "A decode step of " + std::to_string(kExampleRequests) + " requests with " +
        std::to_string(kExampleTokens) + " tokens each" + (reads_part_ ? ", which are all read," : "") +
        " takes " + ms_text(step(load).count) + ": weights " +
        ms_text(parts_.weights.ticks(load.tokens, load.requests)) + " (roofline), attention " +
        ms_text(parts_.attention->decode_ticks(load)) + " (" +
        std::string(kernels::source_name(parts_.attention->source(kExampleRequests, kExampleTokens))) + ")";
    if (!parts_.links.within_stage().empty() || !parts_.links.between_stages().empty())
      text += ", links " + ms_text(parts_.links.ticks(load.tokens, load.requests)) + " (assumed)";
    text += ", starts " + ms_text(parts_.starts) + " (assumed)";
    if (parts_.without_tables)
      text += "; without measured tables it would take " +
              ms_text(beside_attention(load) + parts_.without_tables->ticks(load));
    return text + ".";
  }

  Parts parts_;
  std::string calibrated_;
  std::string device_, engine_;
  bool reads_part_;
  bool latent_;
  std::int64_t experts_;
};

constexpr auto kEngines = kernels::kMeasuredEngines;
constexpr std::string_view kNewest = "newest";
constexpr std::string_view kNone = "none";

constexpr Param share_of_peak(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = fallback,
          .low = 0.001,
          .high = 1,
          .choices = {}};
}
constexpr Param time_of(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kNs,
          .fallback = fallback,
          .low = 0,
          .high = 1e9,
          .choices = {}};
}

constexpr std::array<Param, 12> kParams{{
    {.name = "engine",
     .help = "Use decode attention times that were measured with this engine's kernels",
     .kind = ParamKind::kText,
     .fallback = kEngines.front(),
     .choices = kEngines},
    {.name = "engine_version",
     .help = "Version of the kernels, or newest for the latest measured version",
     .kind = ParamKind::kText,
     .fallback = kNewest},
    share_of_peak("memory_efficiency", "Share of the device's peak bandwidth at which weights are read",
                  "0.9"),
    share_of_peak("compute_efficiency", "Share of the peak FLOP/s that matrix products reach", "0.6"),
    share_of_peak("attention_efficiency", "Share of the peak FLOP/s that prefill attention reaches", "0.6"),
    share_of_peak("link_efficiency", "Share of the links' rates that communication between ranks reaches",
                  "0.8"),
    time_of("collective_ns", "Fixed time per communication between ranks, in addition to the transfer",
            "3600"),
    time_of("kernel_ns", "Fixed time per kernel launch, in addition to its work", "2000"),
    time_of("overhead_ns", "Fixed time per step outside kernels: scheduling, sampling", "500000"),
    {.name = "node_devices",
     .help = "Devices per node, which are connected without the network",
     .fallback = "8",
     .low = 1,
     .high = 1024},
    {.name = "network",
     .help = "Network bandwidth between nodes per device and direction, bytes/s (default: InfiniBand NDR)",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kBytesPerSecond,
     .fallback = "50e9",
     .low = 1e6,
     .high = 1e13},
    {.name = "calibration",
     .help = "Calibration (JSON) with a table of decode attention times (kvplan-validate calibrate measures "
             "one), "
             "used instead of the engine's",
     .kind = ParamKind::kText,
     .fallback = kNone,
     .names_file = true},
}};

constexpr std::string_view kCalibration = "calibration";

kernels::DecodeTimes tables_on(const model::DeviceShape& device, const std::string& engine,
                               const std::string& version) {
  kernels::TableNames names{device.aliases, engine, version};
  names.gpu.push_back(device.name);
  return {kernels::kernel_tables(), names};
}

kernels::DecodeTimes tables_for(const Choice& choice, const model::DeviceShape& device,
                                const LatencyRequest& request) {
  if (!has_heads(request.model)) return {{}, {}};
  if (request.kernels != nullptr) {
    const kernels::KernelTable& first = request.kernels->front();
    return {*request.kernels, {{first.gpu}, first.engine, {}}};
  }
  const std::string& version = choice.text("engine_version");
  return tables_on(device, choice.text("engine"), version == kNewest ? std::string() : version);
}

/// Kernels must have been measured on the device, with heads of the model's size. If the model is not known yet, only
/// the device counts. The number of ranks does not count: otherwise it could change the way in which steps are timed.
std::string text_for(const LatencyWish& wish) {
  const std::string engine(wish.kernels);
  const kernels::DecodeTimes tables = tables_on(wish.device, engine, {});
  if (tables.empty()) return {};
  const auto covered = [&](const model::LayerRun& run) {
    return run.cache.kind == model::CacheKind::kHeads &&
           tables.has_head_size((run.cache.key_size + run.cache.value_size) / 2);
  };
  if (wish.model != nullptr && !std::all_of(wish.model->runs.begin(), wish.model->runs.end(), covered))
    return {};
  return engine == kEngines.front() ? "composed" : "composed:engine=" + engine;
}

/// Time to read the metadata of one token, at a fraction of the device's bandwidth.
std::int64_t ranked_ticks(const LatencyRequest& request, double efficiency) {
  if (request.partly == nullptr) return 0;
  const double bytes_per_s =
      static_cast<double>(request.device->at(model::DeviceFigure::kBandwidth).value) * efficiency;
  return std::llround(static_cast<double>(request.partly->ranked_token_bytes) / bytes_per_s *
                      kTicksPerSecond);
}

Result<std::unique_ptr<core::LatencyModel>> make(const Choice& choice, const LatencyRequest& request) {
  if (request.device == nullptr)
    return bad_input("expected deployment.device: composed step times need a device's figures")
        .at_field("latency");
  const StepShape shape{.model = request.model,
                        .device = *request.device,
                        .tensor_ranks = request.tensor_ranks,
                        .stages = request.stages,
                        .token_bytes = request.token_bytes,
                        .fine_weight_bits = request.fine_weight_bits,
                        .weights_bytes = request.weights_bytes,
                        .follows_windows = request.follows_windows,
                        .partly = request.partly != nullptr ? request.partly->layers : std::vector<double>{},
                        .ranked_token_ticks = ranked_ticks(request, choice.decimal("memory_efficiency"))};
  Parts parts;
  KVPLAN_TRY(parts.weights, WeightsPart::make(shape, {choice.decimal("compute_efficiency"),
                                                      choice.decimal("memory_efficiency")}));
  KVPLAN_TRY(parts.links,
             LinksPart::make(shape, {.efficiency = choice.decimal("link_efficiency"),
                                     .collective_ns = choice.decimal("collective_ns"),
                                     .node_devices = choice.integer("node_devices"),
                                     .network_bytes_per_s = std::llround(choice.decimal("network"))}));
  const double attention = choice.decimal("attention_efficiency");
  if (choice.text(kCalibration) != kNone && request.kernels == nullptr)
    return bad_input("the calibration " + choice.text(kCalibration) + " cannot be read in this context")
        .at_field("latency");
  kernels::DecodeTimes tables = tables_for(choice, shape.device, request);
  if (!tables.empty())
    parts.without_tables = std::make_unique<AttentionPart>(shape, kernels::DecodeTimes({}, {}), attention);
  parts.attention = std::make_unique<AttentionPart>(shape, std::move(tables), attention);
  const std::int64_t kernels = kKernels + (request.model.weight_shape.experts > 0 ? kExpertKernels : 0);
  parts.starts =
      std::llround((choice.decimal("overhead_ns") +
                    choice.decimal("kernel_ns") * static_cast<double>(kernels * request.model.layers)) *
                   static_cast<double>(kTicksPerNs));
  parts.moved_bytes_per_tick =
      shape.figure(model::DeviceFigure::kBandwidth) * choice.decimal("memory_efficiency") / kTicksPerSecond;
  return std::unique_ptr<core::LatencyModel>(std::make_unique<Composed>(
      std::move(parts), shape,
      request.kernels != nullptr ? request.kernels->front().engine : choice.text("engine"),
      request.kernels != nullptr ? request.kernels->front().gpu : std::string()));
}

}  // namespace

extern const LatencyEntry kMember;
const LatencyEntry kMember{
    .descriptor =
        {.family = "latency",
         .name = "composed",
         .summary = "A step takes the sum of weights, measured decode attention, prefill attention, links "
                    "between ranks and kernel launches.",
         .source =
             "kvplan; NVIDIA AIConfigurator 095f58a5 (decode attention); NVIDIA NCCL 01afd20 (latencies)",
         .params = kParams},
    .make = make,
    .counts_weights = true,
    .kernels_param = kCalibration,
    .price = {.fixed_ns = 10'000'000, .request_ns = 4'000},  // tables of measured kernels are read
    .text_for = text_for};

}  // namespace kvplan::latency::latency_composed
