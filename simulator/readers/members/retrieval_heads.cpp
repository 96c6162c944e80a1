// Retrieval heads: heads with high gates read everything, the others the first and newest tokens. Nothing is dropped.
#include <array>
#include <string>

#include "simulator/attention/head_intervals.h"
#include "simulator/readers/reader.h"

namespace kvplan::readers::retrieval_heads {
namespace {

constexpr std::array kParams{
    attention::head_table_param(
        "gates",
        "Gate or score of each KV head: a JSON file with one list per layer, or the lists themselves"),
    attention::share_param(
        "sparsity",
        "Share of all heads in the model that read only first and newest tokens (streaming heads)", "0.5"),
    Param{.name = "sink",
          .help = "First tokens that streaming heads read",
          .unit = Unit::kTokens,
          .fallback = "64",
          .low = 0,
          .high = attention::kMaxTokens},
    Param{.name = "recent",
          .help = "Newest tokens that streaming heads read",
          .unit = Unit::kTokens,
          .fallback = "256",
          .low = 1,
          .high = attention::kMaxTokens}};

class RetrievalHeads final : public LayerReader {
 public:
  explicit RetrievalHeads(const ReaderInput& input)
      : in_(input.tensors), sink_(input.choice.integer("sink")), recent_(input.choice.integer("recent")) {
    const attention::HeadTable& gates = input.tables[0];
    const double threshold = attention::gate_threshold(gates, input.choice.decimal("sparsity"));
    for (std::int32_t h = 0; h < in_.kv_heads; ++h)
      whole_.push_back(attention::gate_of(gates, input.layer.layer, input.layer.model_kv_head(h)) >=
                       threshold);
  }

  void read(std::int64_t t, const attention::LayerRows& /*rows*/, std::span<ReadSet> sets) override {
    const std::int64_t first = in_.first_seen(t);
    for (std::size_t q = 0; q < sets.size(); ++q) {
      const std::size_t head = q / static_cast<std::size_t>(group_of(in_));
      if (whole_[head]) {
        append_range(first, t + 1, sets[q]);
        continue;
      }
      const std::int64_t newest = std::max(first, t + 1 - recent_);
      append_range(first, std::min(sink_, newest), sets[q]);
      append_range(newest, t + 1, sets[q]);
    }
  }

 private:
  const attention::LayerTensors& in_;
  std::int64_t sink_;
  std::int64_t recent_;
  std::vector<bool> whole_;  ///< [KV head]
};

Status check_gates(const Choice& choice, const attention::HeadTable& gates, std::int32_t layer_number,
                   std::int32_t heads) {
  const auto layer = static_cast<std::size_t>(layer_number);
  const std::string field = std::string(choice.name()) + ":gates";
  if (layer >= gates.size())
    return bad_input("expected a list for layer " + std::to_string(layer) + " too, found " +
                     std::to_string(gates.size()) + " lists")
        .at_field(field);
  if (gates[layer].size() != static_cast<std::size_t>(heads))
    return bad_input("expected a number for each of " + std::to_string(heads) + " KV heads in layer " +
                     std::to_string(layer) + ", found " + std::to_string(gates[layer].size()))
        .at_field(field);
  return Done{};
}
Status check(const ReaderInput& input) {
  return check_gates(input.choice, input.tables[0], input.layer.layer, input.layer.model_kv_heads);
}

Result<CountedReads> counted(const UnrecordedHead& head) {
  const attention::HeadTable& gates = head.tables[0];
  KVPLAN_TRY_DO(check_gates(head.choice, gates, head.layer, head.heads));
  const double threshold = attention::gate_threshold(gates, head.choice.decimal("sparsity"));
  if (attention::gate_of(gates, head.layer, head.head) >= threshold) return CountedReads{};
  return CountedReads{.rule = {.fetched = head.choice.integer("sink") + head.choice.integer("recent")}};
}

std::unique_ptr<LayerReader> make(const ReaderInput& input) {
  return std::make_unique<RetrievalHeads>(input);
}

}  // namespace

extern const ReaderKind kMember;
const ReaderKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "retrieval-heads",
         .summary = "Heads with high gates read everything; the other heads read first and newest tokens; "
                    "nothing is evicted",
         .source = "arXiv 2410.10819 (DuoAttention)",
         .params = kParams,
         .divergences =
             "The original evicts the tokens that streaming heads do not read; that is duo-attention of the "
             "family eviction. Here the tokens stay in the cache, and only the bytes read shrink. Heads at "
             "the threshold all read everything; the original breaks such ties with random noise."},
    .ranks_products = false,
    .check = check,
    .counted = counted,
    .make = make};

}  // namespace kvplan::readers::retrieval_heads
