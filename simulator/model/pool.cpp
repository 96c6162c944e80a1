#include "simulator/model/pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/units.h"
#include "simulator/model/footprint.h"
#include "simulator/model/pool_rule.h"
#include "simulator/model/ranks.h"

namespace kvplan::model {
namespace {

constexpr std::int64_t kMostTensorRanks = 1024;  // that an error proposes
constexpr const char* kLeftByRule = "left by the rule";

std::string gib_text(std::int64_t bytes) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text.data();
}

/// Everything that a rank of one stage holds, and from where each figure is.
struct Amounts {
  Estimate device, context, weights, activations, workspace, graphs;

  /// `of`: which value of an estimate counts for what is taken, and which for the device.
  template <class Taken, class Has>
  [[nodiscard]] RankMemory memory(Taken of, Has has) const {
    return {.device = has(device),
            .context = of(context),
            .weights = of(weights),
            .activations = of(activations),
            .workspace = of(workspace),
            .graphs = of(graphs)};
  }
};

std::int64_t value_of(const Estimate& e) {
  return e.figure.value;
}
std::int64_t low_of(const Estimate& e) {
  return e.low;
}
std::int64_t high_of(const Estimate& e) {
  return e.high;
}

Figure counted_weights(const Deployment& d, const StageWeights& weights) {
  std::string bits = precision_text(weights);
  if (constexpr std::string_view kEach = " each"; bits.ends_with(kEach))
    bits = "x " + bits.substr(0, bits.size() - kEach.size());
  else
    bits = "as the checkpoint stores them: " + bits;
  if (d.weight_bits)
    bits = "x " +
           shortest(static_cast<double>(d.weight_bits->numerator) /
                    static_cast<double>(d.weight_bits->denominator)) +
           " bits";
  if (weights.of(WeightPart::kTables).bytes() > 0) bits += ", and tables";
  return {weights.bytes(), Mark::kComputed, "parameters per rank " + bits};
}

Estimate exactly(Figure figure) {
  const std::int64_t value = figure.value;
  return {std::move(figure), value, value};
}

Estimate given_or(const std::optional<std::int64_t>& given, Estimate assumed) {
  return given ? exactly({*given, Mark::kGiven, {}}) : std::move(assumed);
}

Estimate memory_of(const DeviceShape& device) {
  Estimate out = exactly(device.at(DeviceFigure::kUsableBytes));
  if (const auto& most = device.find(DeviceFigure::kUsableBytesMost); most)
    out.high = std::max(out.high, most->value);
  return out;
}

Amounts amounts_of(const ModelShape& shape, const Deployment& d, const StageWeights& weights,
                   bool last_stage) {
  Figure counted = d.weights_bytes ? Figure{*d.weights_bytes, Mark::kGiven, {}} : counted_weights(d, weights);
  RankTerms terms = d.pool_rule.terms({.model = &shape,
                                       .weights = &weights,
                                       .device = d.device,
                                       .tensor_ranks = d.tensor_ranks,
                                       .stages = d.stages,
                                       .has_output = last_stage,
                                       .step_tokens = d.step_tokens,
                                       .step_requests = d.step_requests});
  return {.device = memory_of(*d.device),
          .context = given_or(d.context_bytes, std::move(terms.context)),
          .weights = exactly(std::move(counted)),
          .activations = given_or(d.activation_bytes, std::move(terms.activations)),
          .workspace = given_or(d.workspace_bytes, std::move(terms.workspace)),
          .graphs = given_or(d.graph_bytes, std::move(terms.graphs))};
}

std::vector<PoolItem> items_of(const Deployment& d, const Amounts& a, const PoolSplit& split,
                               const StagePool& stage) {
  std::vector<PoolItem> items;
  const auto add = [&](const char* name, PoolPart part, const Estimate& e) {
    items.push_back({name, part, e.figure.value, e.figure.mark, e.figure.source, e.low, e.high});
  };
  const std::string rule = d.pool_rule.choice.to_string();
  add("device memory", PoolPart::kTotal, a.device);
  if (!split.context_aside) add("context", PoolPart::kTaken, a.context);
  add("weights", PoolPart::kTaken, a.weights);
  if (!split.activations_aside) add("activations", PoolPart::kTaken, a.activations);
  if (!split.workspace_aside) add("workspace", PoolPart::kTaken, a.workspace);
  if (!split.graphs_aside) add("graphs", PoolPart::kTaken, a.graphs);
  add(kLeftByRule, PoolPart::kTaken, exactly({split.aside, Mark::kComputed, rule}));
  if (split.context_aside) add("context", PoolPart::kWithin, a.context);
  if (split.activations_aside) add("activations", PoolPart::kWithin, a.activations);
  if (split.workspace_aside) add("workspace", PoolPart::kWithin, a.workspace);
  if (split.graphs_aside) add("graphs", PoolPart::kWithin, a.graphs);
  add("KV pool", PoolPart::kPool, {{split.pool, Mark::kComputed, rule}, stage.low_bytes, stage.high_bytes});
  return items;
}

/// Which pool holds fewer tokens, windows aside; exact.
bool holds_fewer(const StagePool& a, const StagePool& b) {
  return Wide{a.pool_bytes} * b.bytes_per_token < Wide{b.pool_bytes} * a.bytes_per_token;
}

/// Without a look at whether it fits.
Result<Pool> split_all(const ModelShape& shape, const Deployment& d) {
  KVPLAN_TRY_DO(check_ranks(shape, d.tensor_ranks, d.stages, d.stage_layers));
  KVPLAN_TRY(const Footprint cells, footprint(shape, {.format = d.format,
                                                      .tensor_ranks = d.tensor_ranks,
                                                      .stages = d.stages,
                                                      .stage_layers = d.stage_layers}));
  std::vector<StageWeights> weights(static_cast<std::size_t>(d.stages));
  auto counted = stage_weights(shape, d.tensor_ranks, d.stages, d.fine_weight_bits(), d.stage_layers);
  if (!counted.ok() && !d.weights_bytes) return std::move(counted).error();
  if (counted.ok()) weights = std::move(counted).value();
  Pool pool;
  pool.null_block = d.pool_rule.rule->null_block;
  pool.warnings = cells.warnings;
  for (std::size_t i = 0; i < cells.stages.size(); ++i) {
    const Amounts amounts = amounts_of(shape, d, weights[i], i + 1 == cells.stages.size());
    const PoolSplit split = d.pool_rule.split(amounts.memory(value_of, value_of));
    pool.stages.push_back({.first_layer = cells.stages[i].first_layer,
                           .layers = cells.stages[i].layers,
                           .weights_bytes = amounts.weights.figure.value,
                           .bytes_per_token = cells.stages[i].bytes_per_token,
                           .pool_bytes = split.pool,
                           .low_bytes = d.pool_rule.split(amounts.memory(high_of, low_of)).pool,
                           .high_bytes = d.pool_rule.split(amounts.memory(low_of, high_of)).pool});
    if (i > 0 && !holds_fewer(pool.stages[i], pool.rank())) continue;
    pool.deciding = i;
    pool.items = items_of(d, amounts, split, pool.stages[i]);
  }
  return pool;
}

/// Bytes of the items of one part.
std::int64_t bytes_of(const Pool& pool, PoolPart part) {
  std::int64_t sum = 0;
  for (const PoolItem& item : pool.items)
    if (item.part == part) sum += item.bytes;
  return sum;
}

std::int64_t left_by_rule(const Pool& pool) {
  const auto left = std::find_if(pool.items.begin(), pool.items.end(),
                                 [](const PoolItem& item) { return item.name == kLeftByRule; });
  return left->bytes;
}

/// A share of the rule, in hundredths, with which all that has to fit beside it does, and which leaves a pool.
std::vector<std::string> smaller_shares(const ModelShape& shape, const Deployment& d) {
  const std::string_view share = d.pool_rule.rule->share;
  Deployment smaller = d;
  for (auto hundredths = static_cast<std::int64_t>(d.pool_rule.choice.decimal(share) * 100); hundredths >= 1;
       --hundredths) {
    const std::string value = shortest(static_cast<double>(hundredths) / 100);
    smaller.pool_rule = d.pool_rule.with_share(value);
    const Result<Pool> pool = split_all(shape, smaller);
    if (!pool.ok() || pool.value().rank().pool_bytes < pool.value().rank().bytes_per_token) return {};
    if (bytes_of(pool.value(), PoolPart::kWithin) <= left_by_rule(pool.value()))
      return {"deployment.pool_rule." + std::string(share) + "=" + value};
  }
  return {};
}

/// What has to fit into the share that the rule leaves, and does not.
void note_overflow(const ModelShape& shape, const Deployment& d, Pool& pool) {
  const std::int64_t within = bytes_of(pool, PoolPart::kWithin);
  const std::int64_t aside = left_by_rule(pool);
  if (within <= aside) return;
  pool.obstacles.push_back({.obstacle = kStartMemory,
                            .need = within,
                            .have = aside,
                            .unit = Unit::kBytes,
                            .remedies = smaller_shares(shape, d)});
  pool.warnings.push_back("The pool rule leaves " + gib_text(aside) +
                          " for all other uses of memory, but these need " + gib_text(within) +
                          ": the engine would run out of memory at start.");
}

std::int64_t tokens_of(const Pool& pool) {
  return pool.rank().pool_bytes / pool.rank().bytes_per_token;
}

/// What sequences keep beside their tokens: the pool counts tokens alone.
Status note_fixed(const ModelShape& shape, const Deployment& d, Pool& pool) {
  KVPLAN_TRY(const Footprint cells, footprint(shape, {.format = d.format,
                                                      .tensor_ranks = d.tensor_ranks,
                                                      .stages = d.stages,
                                                      .stage_layers = d.stage_layers}));
  const StagePool& rank = pool.rank();
  std::int64_t bytes = 0;
  for (std::int64_t i = rank.first_layer; i < rank.first_layer + rank.layers; ++i)
    if (const LayerFootprint& layer = cells.layers[static_cast<std::size_t>(i)];
        !d.counts_states || !layer.cache.has_state())
      bytes += layer.fixed_bytes;
  if (bytes > 0)
    pool.warnings.push_back(
        "On a rank, each sequence also needs " + std::to_string(bytes) +
        " bytes for the states and windows of its layers. The pool's number of tokens does not subtract "
        "these "
        "bytes, nor the padding with which vLLM gives their blocks and the blocks of tokens one size.");
  return Done{};
}

bool has_room(const ModelShape& shape, const Deployment& d, std::int64_t tokens) {
  const Result<Pool> pool = split_all(shape, d);
  return pool.ok() && pool.value().rank().pool_bytes >= 0 && tokens_of(pool.value()) >= tokens;
}

/// The next power of two of tensor ranks with which the tokens fit; nothing if none does.
std::vector<std::string> more_ranks(const ModelShape& shape, const Deployment& d, std::int64_t tokens) {
  if (d.weights_bytes) return {};  // what they are with other ranks is not known
  Deployment wider = d;
  do {
    wider.tensor_ranks =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wider.tensor_ranks) + 1));
  } while (wider.tensor_ranks <= kMostTensorRanks && !has_room(shape, wider, tokens));
  if (wider.tensor_ranks > kMostTensorRanks) return {};
  return {"deployment.tp=" + std::to_string(wider.tensor_ranks)};
}

/// Settings with which the model would fit: "deployment.tp=16", "deployment.weight_bits=8".
std::vector<std::string> with_room(const ModelShape& shape, const Deployment& d) {
  std::vector<std::string> out = more_ranks(shape, d, 1);
  if (d.weights_bytes || d.weight_bits) return out;
  const auto stored = stage_weights(shape, d.tensor_ranks, d.stages, std::nullopt, d.stage_layers);
  if (!stored.ok()) return out;
  const StageWeights& first = stored.value().front();
  Deployment lighter = d;
  for (const std::int64_t bits : {8, 4}) {
    lighter.weight_bits = Fraction{bits, 1};
    if (Wide{bits} * first.weights() >= Wide{8} * first.bytes() || !has_room(shape, lighter, 1)) continue;
    out.push_back("deployment.weight_bits=" + std::to_string(bits));
    break;
  }
  return out;
}

/// Nothing if there is room for a token.
std::optional<Obstacle> no_room(const ModelShape& shape, const Deployment& d, const Pool& pool) {
  const StagePool& rank = pool.rank();
  if (rank.pool_bytes >= rank.bytes_per_token) return std::nullopt;
  const std::int64_t have = d.device->at(DeviceFigure::kUsableBytes).value - left_by_rule(pool);
  return Obstacle{.obstacle = kNoRoom,
                  .need = have - rank.pool_bytes + rank.bytes_per_token,
                  .have = have,
                  .unit = Unit::kBytes,
                  .remedies = with_room(shape, d)};
}

/// The weights leave no room: by how much, and what would do.
Error does_not_fit(const Deployment& d, const Pool& pool, const Obstacle& obstacle) {
  std::string text = "expected room for KV cache on " + d.device->name + ": weights take " +
                     gib_text(pool.rank().weights_bytes) + " per rank; with buffers and one token " +
                     gib_text(obstacle.need) + " are needed, " + gib_text(obstacle.have) +
                     " are available, and " + gib_text(obstacle.need - obstacle.have) + " are missing";
  const std::vector<std::string>& ways = obstacle.remedies;
  for (std::size_t i = 0; i < ways.size(); ++i)
    text += i == 0 ? "; " + ways[0] + " would fit" : ", and so would " + ways[i];
  if (ways.empty() && !d.weights_bytes) text += "; no number of ranks would fit";
  return bad_input(text).at_field("deployment");
}

}  // namespace

std::optional<std::int64_t> Deployment::fine_weight_bits() const {
  if (!weight_bits) return std::nullopt;
  const Wide fine = (Wide{weight_bits->numerator} << 17) / weight_bits->denominator;
  return static_cast<std::int64_t>((fine + 1) / 2);
}

std::string_view pool_part_name(PoolPart part) {
  switch (part) {
    case PoolPart::kTotal:
      return "total";
    case PoolPart::kTaken:
      return "taken";
    case PoolPart::kWithin:
      return "within";
    case PoolPart::kPool:
      return "pool";
  }
  return {};
}

Result<std::optional<Obstacle>> lack_of_room(const ModelShape& shape, const Deployment& d) {
  KVPLAN_CHECK(d.device != nullptr);
  KVPLAN_TRY(const Pool pool, split_all(shape, d));
  return no_room(shape, d, pool);
}

std::vector<std::string> remedies_of_length(const ModelShape& shape, const Deployment& d,
                                            std::int64_t longest, std::int64_t tokens) {
  std::vector<std::string> out;
  if (tokens > 0) out.push_back(d.longest_path + "=" + std::to_string(tokens));
  for (std::string& ranks : more_ranks(shape, d, longest)) out.push_back(std::move(ranks));
  return out;
}

Result<Pool> derive_pool(const ModelShape& shape, const Deployment& d) {
  KVPLAN_CHECK(d.device != nullptr);
  KVPLAN_TRY(Pool pool, split_all(shape, d));
  if (const auto obstacle = no_room(shape, d, pool)) return does_not_fit(d, pool, *obstacle);
  note_overflow(shape, d, pool);
  KVPLAN_TRY_DO(note_fixed(shape, d, pool));
  // What is known to be wrong about counted weights.
  for (const std::string& note : shape.notes)
    if (note.starts_with("The weights ") && !d.weights_bytes && !d.weight_bits) pool.warnings.push_back(note);
  const std::int64_t tokens = tokens_of(pool);
  if (d.max_model_len > 0 && tokens < d.max_model_len) {
    pool.obstacles.push_back({.obstacle = kLongestRequest,
                              .need = d.max_model_len,
                              .have = tokens,
                              .unit = Unit::kTokens,
                              .remedies = remedies_of_length(shape, d, d.max_model_len, tokens)});
    pool.warnings.push_back("The pool holds " + std::to_string(tokens) +
                            " tokens, fewer than a single request of max_model_len (" +
                            std::to_string(d.max_model_len) + "): vLLM would not start.");
  }
  return pool;
}

}  // namespace kvplan::model
