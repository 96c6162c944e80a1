// The duration of a step is the sum of its parts, on one rank of each stage:
//
//   products   parts/products_part.h   each product by shape and format, and experts, from measured tables
//   attention  parts/attention_part.h  measured kernels if there are tables, and prompts
//   links      parts/links_part.h      what tensor-parallel ranks and stages send each other
//   starts     a time for each small kernel of a layer (5: two norms, rotary embedding, cache write, activation, as in
//              vllm-project/vllm v0.15.1, model_executor/models/llama.py; 2 more with experts: choice, sum) and for the
//              activations that they read and write, and a time for each step
//
// With tables=none products are weights_part.h: reading or multiplying at assumed shares of the device's peaks; and
// starts count the launches of products too (4, and the router).
//
// In a run of decode steps only attention changes, along straight pieces; a series ends where it bends.
#include <algorithm>
#include <array>

#include "simulator/base/number_input.h"
#include "simulator/core/parted_latency.h"
#include "simulator/latency/affine_ticks.h"
#include "simulator/latency/latencies.h"
#include "simulator/latency/parts/attention_part.h"
#include "simulator/latency/parts/links_part.h"
#include "simulator/latency/parts/products_part.h"
#include "simulator/latency/parts/prompt_part.h"
#include "simulator/latency/parts/weights_part.h"

namespace kvplan::latency::latency_composed {
namespace {

constexpr std::int64_t kSmallKernels = 5, kSmallExpertKernels = 2;
constexpr std::int64_t kProducts = 4, kExpertProducts = 1;

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
  std::shared_ptr<const model::DeviceShape> device;
  std::optional<ProductsPart> products;
  WeightsPart weights;  ///< without products
  LinksPart links;
  std::unique_ptr<AttentionPart> attention;
  std::unique_ptr<AttentionPart> without_tables;  ///< null if there are tables
  std::int64_t starts{0};                         ///< ticks
  FineTicks activations;                          ///< of a token
  double request_ns{0}, prompt_token_ns{0};       ///< outside the engine
  double moved_bytes_per_tick{0};
};

class Composed final : public core::PartedLatency {
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

  [[nodiscard]] core::StepParts parts(const core::StepLoad& load) const override {
    using core::StepPart;
    core::StepParts out;
    out.of(StepPart::kWeights) = weight_ticks(load);
    out.of(StepPart::kExperts) = expert_ticks(load);
    out.of(StepPart::kDecodeAttention) = parts_.attention->decode_ticks(load);
    out.of(StepPart::kPrefillAttention) = parts_.attention->prompt_ticks(load);
    out.of(StepPart::kLinks) = parts_.links.ticks(load.tokens, load.requests);
    out.of(StepPart::kLaunches) = launch_ticks(load);
    return out;
  }
  [[nodiscard]] Ticks outside(std::int64_t prompt_tokens) const override {
    const double ns = parts_.request_ns + parts_.prompt_token_ns * static_cast<double>(prompt_tokens);
    return {std::llround(ns * static_cast<double>(kTicksPerNs))};
  }

  [[nodiscard]] std::vector<std::string> assumptions() const override {
    std::vector<std::string> out{attention_sentence(), rest_sentence()};
    if (const std::string sent = links_sentence(); !sent.empty()) out.push_back(sent);
    out.push_back(example_sentence());
    return out;
  }

 private:
  [[nodiscard]] Wide weight_ticks(const core::StepLoad& load) const {
    return parts_.products ? parts_.products->weight_ticks(load.tokens, load.requests)
                           : parts_.weights.dense_ticks(load.tokens, load.requests);
  }
  [[nodiscard]] Wide expert_ticks(const core::StepLoad& load) const {
    return parts_.products ? Wide{parts_.products->expert_ticks(load.tokens)}
                           : parts_.weights.expert_ticks(load.tokens);
  }
  [[nodiscard]] Wide launch_ticks(const core::StepLoad& load) const {
    return parts_.starts + parts_.activations.times(load.tokens);
  }
  [[nodiscard]] Wide beside_attention(const core::StepLoad& load) const {
    return launch_ticks(load) + weight_ticks(load) + expert_ticks(load) +
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

  [[nodiscard]] static std::string source_of(const kernels::CurveOrigin& origin) {
    return std::string(kernels::source_name(origin.source));
  }
  [[nodiscard]] std::string source_of_weights() const {
    return parts_.products ? source_of(parts_.products->weights_origin()) : "roofline";
  }
  [[nodiscard]] std::string source_of_experts() const {
    return parts_.products ? source_of(parts_.products->experts_origin()) : "roofline";
  }

  /// "vllm 0.24.0 on h100 (fp8)".
  static std::string table_text(const kernels::CurveOrigin& origin) {
    return origin.engine + " " + origin.engine_version + " on " + origin.gpu +
           (origin.dtype.empty() ? "" : " (" + origin.dtype + ")");
  }

  [[nodiscard]] std::string rest_sentence() const {
    if (!parts_.products) return assumed_sentence();
    std::string text =
        "Times of matrix products come from tables of " + table_text(parts_.products->weights_origin());
    if (experts_ > 0) text += ", those of experts from " + table_text(parts_.products->experts_origin());
    if (!parts_.attention->prompts().empty())
      text += ", those of prompt attention from " + table_text(parts_.attention->prompts().origin());
    text += "; NVIDIA AIConfigurator.";
    if (parts_.products->weights_origin().other_device || parts_.products->experts_origin().other_device)
      text += " No table was measured on " + device_ +
              ": its published rates are used with the shares that the most similar device reaches.";
    text += " Times of small kernels, of scheduling and outside the engine are fitted constants.";
    return text;
  }

  [[nodiscard]] std::string assumed_sentence() const {
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
    const kernels::CurveOrigin& reduces = parts_.links.reduce_origin();
    if (!reduces.engine.empty())
      text = "Tensor-parallel ranks all-reduce in times that were measured with " + table_text(reduces) +
             ", and gather logits in rings at " + within;
    else if (!within.empty())
      text = "Tensor-parallel ranks all-reduce in rings at " + within;
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
        " takes " + ms_text(step(load).count) + ": weights " + ms_text(weight_ticks(load)) + " (" +
        source_of_weights() + "), attention " + ms_text(parts_.attention->decode_ticks(load)) + " (" +
        std::string(kernels::source_name(parts_.attention->source(kExampleRequests, kExampleTokens))) + ")";
    if (experts_ > 0) text += ", experts " + ms_text(expert_ticks(load)) + " (" + source_of_experts() + ")";
    if (!parts_.links.within_stage().empty() || !parts_.links.between_stages().empty())
      text += ", links " + ms_text(parts_.links.ticks(load.tokens, load.requests)) + " (" +
              (parts_.links.reduce_origin().engine.empty() ? "assumed"
                                                           : source_of(parts_.links.reduce_origin())) +
              ")";
    text += ", kernel launches " + ms_text(launch_ticks(load)) + " (assumed)";
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

constexpr std::array<std::string_view, 2> kTables{"measured", "none"};

constexpr std::string_view kFitted = "fitted";

constexpr std::array<Param, 15> kParams{{
    {.name = "engine",
     .help = "Use decode attention times that were measured with this engine's kernels",
     .kind = ParamKind::kText,
     .fallback = kEngines.front(),
     .choices = kEngines},
    {.name = "engine_version",
     .help = "Version of the kernels, or newest for the latest measured version",
     .kind = ParamKind::kText,
     .fallback = kNewest},
    {.name = "tables",
     .help =
         "Times of products, experts, prompt attention and all-reduce: measured, or none for shares of the "
         "device's peaks",
     .kind = ParamKind::kText,
     .fallback = kTables.front(),
     .choices = kTables},
    share_of_peak("memory_efficiency", "Share of the device's peak bandwidth at which weights are read",
                  "0.9"),
    share_of_peak("compute_efficiency", "Share of the peak FLOP/s that matrix products reach", "0.6"),
    share_of_peak("attention_efficiency", "Share of the peak FLOP/s that prefill attention reaches", "0.6"),
    share_of_peak("link_efficiency", "Share of the links' rates that communication between ranks reaches",
                  "0.8"),
    time_of("collective_ns", "Fixed time per communication between ranks, in addition to the transfer",
            "3600"),
    time_of("kernel_ns", "Fixed time per small kernel (norm, rotary embedding, activation, ...)", "4000"),
    time_of("overhead_ns", "Fixed time per step outside kernels: scheduling, sampling", "200000"),
    {.name = "request_ns",
     .help =
         "Fixed time per request outside the engine, before it has it (HTTP, polling); fitted: that of the "
         "engine as fitted on measured servers",
     .kind = ParamKind::kText,
     .fallback = kFitted},
    time_of("prompt_token_ns", "Time outside the engine for each prompt token: JSON, tokeniser", "6000"),
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

/// Wherever a device is known, and a table or that of a similar device tells of its kernels.
std::string text_for(const LatencyWish& wish) {
  const std::string engine(wish.kernels);
  if (wish.model != nullptr && !wish.model->weights_miss.empty()) return {};
  return engine.empty() || engine == kEngines.front() ? "composed" : "composed:engine=" + engine;
}

/// Time to read the metadata of one token, at a fraction of the device's bandwidth.
std::int64_t ranked_ticks(const LatencyRequest& request, double efficiency) {
  if (request.partly == nullptr) return 0;
  const double bytes_per_s =
      static_cast<double>(request.device->at(model::DeviceFigure::kBandwidth).value) * efficiency;
  return std::llround(static_cast<double>(request.partly->ranked_token_bytes) / bytes_per_s *
                      kTicksPerSecond);
}

/// Bytes of activations that small kernels read and write for a token, on one rank: norms with residuals, rotary
/// embedding, activation of the feed-forward block.
double activation_bytes(const StepShape& shape) {
  const model::ModelShape& m = shape.model;
  const model::WeightShape& w = m.weight_shape;
  const std::int64_t heads = ceil_div(m.query_heads, shape.tensor_ranks);
  const std::int64_t width =
      ceil_div(w.experts > 0 ? w.shared_feed_forward : w.feed_forward, shape.tensor_ranks);
  const std::int64_t elements = 8 * m.hidden + 2 * heads * (w.key_size + w.value_size) + w.matrices * width;
  return static_cast<double>(kActivationBytes * elements * m.layers);
}

Result<std::unique_ptr<core::LatencyModel>> make(const Choice& choice, const LatencyRequest& request) {
  if (request.device == nullptr)
    return bad_input("expected deployment.device: composed step times need a device's figures")
        .at_field("latency");
  const StepShape shape{.model = request.model,
                        .device = *request.device,
                        .tensor_ranks = request.tensor_ranks,
                        .stages = request.stages,
                        .stage_layers = request.stage_layers,
                        .token_bytes = request.token_bytes,
                        .fine_weight_bits = request.fine_weight_bits,
                        .weights_bytes = request.weights_bytes,
                        .follows_windows = request.follows_windows,
                        .partly = request.partly != nullptr ? request.partly->layers : std::vector<double>{},
                        .ranked_token_ticks = ranked_ticks(request, choice.decimal("memory_efficiency"))};
  Parts parts;
  const bool measured = choice.text("tables") == kTables.front();
  const std::string& version = choice.text("engine_version");
  parts.device = std::make_shared<const model::DeviceShape>(shape.device);
  const kernels::CurveWish wish{*parts.device, choice.text("engine"),
                                version == kNewest ? std::string_view() : version};
  if (measured) {
    KVPLAN_TRY(parts.products, ProductsPart::make(shape, wish));
  } else {
    KVPLAN_TRY(parts.weights, WeightsPart::make(shape, {choice.decimal("compute_efficiency"),
                                                        choice.decimal("memory_efficiency")}));
  }
  KVPLAN_TRY(parts.links, LinksPart::make(shape,
                                          {.efficiency = choice.decimal("link_efficiency"),
                                           .collective_ns = choice.decimal("collective_ns"),
                                           .node_devices = choice.integer("node_devices"),
                                           .network_bytes_per_s = std::llround(choice.decimal("network"))},
                                          measured ? &wish : nullptr));
  const double attention = choice.decimal("attention_efficiency");
  if (choice.text(kCalibration) != kNone && request.kernels == nullptr)
    return bad_input("the calibration " + choice.text(kCalibration) + " cannot be read in this context")
        .at_field("latency");
  kernels::DecodeTimes tables = tables_for(choice, shape.device, request);
  if (!tables.empty())
    parts.without_tables = std::make_unique<AttentionPart>(shape, kernels::DecodeTimes({}, {}), attention);
  parts.attention = std::make_unique<AttentionPart>(shape, std::move(tables), attention,
                                                    measured ? PromptPart::make(shape, wish) : PromptPart());
  const bool has_experts = request.model.weight_shape.experts > 0;
  std::int64_t kernels = kSmallKernels + (has_experts ? kSmallExpertKernels : 0);
  if (!measured) kernels += kProducts + (has_experts ? kExpertProducts : 0);
  parts.starts =
      std::llround((choice.decimal("overhead_ns") +
                    choice.decimal("kernel_ns") * static_cast<double>(kernels * request.model.layers)) *
                   static_cast<double>(kTicksPerNs));
  const std::string& asked = choice.text("request_ns");
  const auto request_ns =
      read_number(asked == kFitted ? kernels::request_ns(choice.text("engine")) : asked, {0, 1e12});
  if (!request_ns.ok()) return Error(request_ns.error()).at_field("latency.request_ns");
  parts.request_ns = request_ns.value();
  parts.prompt_token_ns = choice.decimal("prompt_token_ns");
  const double bytes_per_tick =
      shape.figure(model::DeviceFigure::kBandwidth) * choice.decimal("memory_efficiency") / kTicksPerSecond;
  if (measured) parts.activations = FineTicks::of(activation_bytes(shape) / bytes_per_tick);
  parts.moved_bytes_per_tick = bytes_per_tick;
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
