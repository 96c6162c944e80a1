// InfiniGen: tokens are ranked by the product of a part of the query's channels with those of the keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "simulator/attention/selection.h"
#include "simulator/formats/linear.h"
#include "simulator/readers/reader.h"

namespace kvplan::readers::infinigen {
namespace {

constexpr std::array<std::string_view, 2> kMaxima{"own", "first"};
constexpr std::array kParams{
    Param{.name = "alpha",
          .help = "A token is fetched if its speculated logit is within this distance of the largest",
          .kind = ParamKind::kDecimal,
          .fallback = "4",
          .low = 0,
          .high = 1e6},
    attention::share_param("fetch", "Share of the earlier tokens that each query head fetches at most",
                           "0.2"),
    Param{.name = "budget",
          .help = "Maximum number of earlier tokens that each query head fetches; 0: as given by fetch",
          .unit = Unit::kTokens,
          .fallback = "0",
          .low = 0,
          .high = attention::kMaxTokens},
    attention::share_param("partial", "Share of each head's channels that speculation uses", "0.2"),
    Param{.name = "skew",
          .help = "First rotate queries and keys into the singular vectors of the prompt's queries",
          .kind = ParamKind::kFlag,
          .fallback = "true"},
    Param{.name = "maximum",
          .help = "The reference is the largest logit of each query head (own), or that of the first head "
                  "for all (first)",
          .kind = ParamKind::kText,
          .fallback = "own",
          .choices = kMaxima},
    dense_layers_param("1")};

/// Number of a head's channels that are used for ranking.
std::int32_t parts_of(const Choice& choice, std::size_t channels) {
  const auto wanted = static_cast<std::size_t>(choice.decimal("partial") * static_cast<double>(channels));
  return static_cast<std::int32_t>(std::clamp<std::size_t>(wanted, 1, channels));
}

/// The directions of one KV head along which queries and keys are compared: rows of length one.
formats::Matrix directions(const ReaderInput& input, std::int32_t head) {
  const attention::LayerTensors& in = input.tensors;
  const auto channels = static_cast<std::size_t>(in.key_size);
  const std::int32_t group = group_of(in);
  formats::Matrix queries(static_cast<std::size_t>(group * input.prompt), channels);
  for (std::int32_t q = 0; q < group; ++q)
    for (std::int64_t t = 0; t < input.prompt; ++t) {
      const auto from = query_of(in, head * group + q, t);
      std::copy(from.begin(), from.end(),
                queries.row(static_cast<std::size_t>(q * input.prompt + t)).begin());
    }
  formats::Matrix all(channels, channels);
  for (std::size_t c = 0; c < channels; ++c) all.at(c, c) = 1;
  if (input.choice.flag("skew")) all = formats::right_singular(queries).vectors;

  std::vector<double> weight(all.rows);
  for (std::size_t r = 0; r < queries.rows; ++r)
    for (std::size_t j = 0; j < all.rows; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < channels; ++c) sum += queries.at(r, c) * all.at(j, c);
      weight[j] += std::fabs(sum);
    }
  std::vector<std::int32_t> chosen;
  const std::int32_t wanted = parts_of(input.choice, channels);
  attention::highest(weight, std::min(wanted, static_cast<std::int32_t>(all.rows)), chosen);
  formats::Matrix out(chosen.size(), channels);
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    const auto from = all.row(static_cast<std::size_t>(chosen[j]));
    std::copy(from.begin(), from.end(), out.row(j).begin());
  }
  return out;
}

class InfiniGen final : public LayerReader {
 public:
  explicit InfiniGen(const ReaderInput& input)
      : in_(input.tensors),
        alpha_(input.choice.decimal("alpha")),
        fetch_(input.choice.decimal("fetch")),
        budget_(input.choice.integer("budget")),
        first_maximum_(input.choice.text("maximum") == "first"),
        element_bytes_(input.element_bytes),
        keys_(static_cast<std::size_t>(in_.kv_heads)) {
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) directions_.push_back(directions(input, h));
    for (std::int64_t t = 0; t < input.prompt; ++t) append(t);
  }

  void append(std::int64_t t) override {
    for (std::int32_t h = 0; h < in_.kv_heads; ++h)
      add_parts(h, key_of(in_, h, t), keys_[static_cast<std::size_t>(h)]);
    tokens_ = t + 1;
  }

  void read(std::int64_t t, const attention::LayerRows& /*rows*/, std::span<ReadSet> sets) override {
    first_ = in_.first_seen(t);
    const std::int64_t earlier = t - first_;
    std::vector<std::vector<double>> logits(sets.size());
    std::int64_t wanted = 0;
    double most = 0;
    for (std::size_t h = 0; h < sets.size() && earlier > 0; ++h) {
      logits[h] = speculated(static_cast<std::int32_t>(h), t);
      if (h == 0 || !first_maximum_) most = *std::max_element(logits[h].begin(), logits[h].end());
      wanted += std::count_if(logits[h].begin(), logits[h].end(),
                              [&](double logit) { return logit > most - alpha_; });
    }
    const auto mean = wanted / static_cast<std::int64_t>(sets.size());
    const auto cap = budget_ > 0 ? budget_ : static_cast<std::int64_t>(fetch_ * static_cast<double>(earlier));
    const auto count = static_cast<std::int32_t>(std::min({mean, cap, earlier}));
    for (std::size_t h = 0; h < sets.size(); ++h) {
      attention::highest(logits[h], count, sets[h]);
      for (std::int32_t& position : sets[h]) position += static_cast<std::int32_t>(first_);
      sets[h].push_back(static_cast<std::int32_t>(t));
    }
  }

  [[nodiscard]] std::int64_t kept_metadata_bytes(std::int32_t head) const override {
    return tokens_ * token_bytes(head);
  }
  [[nodiscard]] std::int64_t read_metadata_bytes(std::int32_t head) const override {
    return (tokens_ - 1 - first_) * token_bytes(head);
  }

 private:
  [[nodiscard]] std::int64_t token_bytes(std::int32_t head) const {
    return static_cast<std::int64_t>(directions_[static_cast<std::size_t>(head)].rows) * element_bytes_;
  }
  void add_parts(std::int32_t head, std::span<const float> vector, std::vector<double>& to) const {
    const formats::Matrix& along = directions_[static_cast<std::size_t>(head)];
    for (std::size_t j = 0; j < along.rows; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < along.columns; ++c) sum += static_cast<double>(vector[c]) * along.at(j, c);
      to.push_back(sum);
    }
  }
  /// Logits of tokens first_ .. t-1 from parts of the channels.
  [[nodiscard]] std::vector<double> speculated(std::int32_t query_head, std::int64_t t) const {
    const std::int32_t head = query_head / group_of(in_);
    std::vector<double> query;
    add_parts(head, query_of(in_, query_head, t), query);
    const std::vector<double>& keys = keys_[static_cast<std::size_t>(head)];
    std::vector<double> out;
    for (std::int64_t i = first_; i < t; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < query.size(); ++j)
        sum += query[j] * keys[static_cast<std::size_t>(i) * query.size() + j];
      out.push_back(in_.logit(query_head, t, i, sum * in_.scale));
    }
    return out;
  }

  const attention::LayerTensors& in_;
  double alpha_;
  double fetch_;
  std::int64_t budget_;
  bool first_maximum_;
  std::int64_t element_bytes_;
  std::vector<formats::Matrix> directions_;  ///< [KV head]
  std::vector<std::vector<double>> keys_;    ///< [KV head][token][direction]
  std::int64_t tokens_{0};
  std::int64_t first_{0};  ///< first token that the latest query sees
};

std::unique_ptr<LayerReader> make(const ReaderInput& input) {
  return std::make_unique<InfiniGen>(input);
}

/// A query's own token is fetched in addition to the budget; its metadata counts like that of any other token.
Result<CountedReads> counted(const UnrecordedHead& head) {
  const std::int64_t budget = head.choice.integer("budget");
  if (budget == 0)
    return wrong_param(head.choice, "budget",
                       "a number of tokens above 0, because runs do not support a share of tokens (fetch)");
  return CountedReads{
      .rule = {.fetched = head.query_heads * budget + 1, .ranked_beyond = 0},
      .metadata_bytes = parts_of(head.choice, static_cast<std::size_t>(head.key_size)) * head.element_bytes,
      .at_most = true};
}

}  // namespace

extern const ReaderKind kMember;
const ReaderKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "infinigen",
         .summary = "Speculates logits from a part of the channels, and reads the tokens with logits close "
                    "to the largest",
         .source = "arXiv 2406.19707 (InfiniGen), snu-comparch/InfiniGen@33dbddd",
         .params = kParams,
         .divergences =
             "The original speculates with weights and the input of the layer below. A recording of queries "
             "and keys has neither, so kvplan uses the layer's own queries, and the speculated query has no "
             "error. The original rotates weights by singular vectors found offline. kvplan uses those of "
             "the recorded prompt's queries, one set per KV head, and selects channels by all its query "
             "heads. The query's own token is always read, as in the timed code; the accuracy code ranks it "
             "too, and uses the first head's largest logit for all heads (maximum=first). Partial query "
             "weights are not counted, and no token leaves the host memory pool."},
    .budget = "budget",
    .ranks_products = false,
    .dense_layers = true,
    .counted = counted,
    .make = make};

}  // namespace kvplan::readers::infinigen
