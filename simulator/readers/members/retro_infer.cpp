// RetroInfer: keys are clustered; some clusters are read, some are estimated by their centres, the rest are left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "simulator/readers/key_clusters.h"
#include "simulator/readers/reader.h"

namespace kvplan::readers::retro_infer {
namespace {

constexpr std::array kParams{
    attention::share_param("retrieve", "Share of the clusters that are read, at least one cluster", "0.018"),
    attention::share_param(
        "estimate",
        "Share of the clusters, ranked next after those that are read, with an attention that is estimated "
        "from their centres",
        "0.232"),
    Param{.name = "budget",
          .help = "Tokens to read on average: budget / cluster_tokens clusters; 0: use retrieve instead",
          .unit = Unit::kTokens,
          .fallback = "0",
          .low = 0,
          .high = attention::kMaxTokens},
    Param{.name = "cluster_tokens",
          .help = "Tokens per cluster",
          .unit = Unit::kTokens,
          .fallback = "16",
          .low = 1,
          .high = attention::kMaxTokens},
    Param{.name = "sinks",
          .help = "First tokens, always read",
          .unit = Unit::kTokens,
          .fallback = "4",
          .low = 0,
          .high = attention::kMaxTokens},
    Param{.name = "recent",
          .help = "Last tokens of the prompt, always read, together with the tokens after them",
          .unit = Unit::kTokens,
          .fallback = "64",
          .low = 0,
          .high = attention::kMaxTokens},
    Param{.name = "update",
          .help = "Number of tokens beyond recent that are always read, until they are clustered together",
          .unit = Unit::kTokens,
          .fallback = "1024",
          .low = 1,
          .high = attention::kMaxTokens},
    Param{.name = "iterations",
          .help = "Maximum number of iterations of Lloyd's k-means algorithm",
          .fallback = "10",
          .low = 1,
          .high = 1000},
    Param{.name = "seed",
          .help = "Seed of the initial centres",
          .fallback = "0",
          .low = 0,
          .high = 9007199254740992.0}};

/// A cluster that has tokens.
struct Cluster {
  std::vector<double> centre;
  std::vector<std::int32_t> members;  ///< ascending
  std::vector<double> values;         ///< sum over the members
};

class RetroInfer final : public LayerReader {
 public:
  explicit RetroInfer(const ReaderInput& input)
      : in_(input.tensors),
        choice_(input.choice),
        layer_(input.layer.layer),
        element_bytes_(input.element_bytes),
        sinks_(std::min(input.choice.integer("sinks"), input.prompt)),
        clusters_(static_cast<std::size_t>(in_.kv_heads)),
        centres_(static_cast<std::size_t>(in_.kv_heads)),
        estimates_(static_cast<std::size_t>(in_.query_heads)),
        clustered_end_(sinks_) {
    add_clusters(input.prompt - input.choice.integer("recent"),
                 std::max<std::int64_t>(1, input.prompt / choice_.integer("cluster_tokens")));
  }

  void append(std::int64_t t) override {
    const std::int64_t update = choice_.integer("update");
    if (t - clustered_end_ == choice_.integer("recent") + update)
      add_clusters(clustered_end_ + update,
                   std::max<std::int64_t>(1, update / choice_.integer("cluster_tokens")));
  }

  void read(std::int64_t t, const attention::LayerRows& /*rows*/, std::span<ReadSet> sets) override {
    for (auto& estimates : estimates_) estimates.clear();
    read_bytes_.assign(clusters_.size(), 0);
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) {
      const std::int32_t group = group_of(in_);
      const auto of_head = sets.subspan(static_cast<std::size_t>(h) * static_cast<std::size_t>(group),
                                        static_cast<std::size_t>(group));
      const auto all = static_cast<std::int64_t>(clusters_[static_cast<std::size_t>(h)].size());
      const std::int64_t wanted = retrieved(h);
      if (all <= wanted) {
        for (ReadSet& set : of_head) append_range(0, t + 1, set);
        continue;
      }
      const std::int64_t estimated =
          std::min(all - wanted,
                   static_cast<std::int64_t>(choice_.decimal("estimate") * static_cast<double>(centres(h))));
      read_bytes_[static_cast<std::size_t>(h)] =
          element_bytes_ * (centres(h) * in_.key_size + estimated * (in_.value_size + 1));
      choose(t, h, wanted, estimated, of_head);
    }
  }

  [[nodiscard]] std::span<const Estimate> estimates(std::int32_t query_head) const override {
    return estimates_[static_cast<std::size_t>(query_head)];
  }
  [[nodiscard]] std::int64_t kept_metadata_bytes(std::int32_t head) const override {
    return centres(head) * element_bytes_ * (in_.key_size + in_.value_size + 1);
  }
  [[nodiscard]] std::int64_t read_metadata_bytes(std::int32_t head) const override {
    return read_bytes_[static_cast<std::size_t>(head)];
  }

 private:
  /// Number of centres, including those of clusters without tokens.
  [[nodiscard]] std::int64_t centres(std::int32_t head) const {
    return centres_[static_cast<std::size_t>(head)];
  }
  [[nodiscard]] std::int64_t retrieved(std::int32_t head) const {
    const std::int64_t budget = choice_.integer("budget");
    const std::int64_t count =
        budget > 0
            ? budget / choice_.integer("cluster_tokens")
            : static_cast<std::int64_t>(choice_.decimal("retrieve") * static_cast<double>(centres(head)));
    return std::max<std::int64_t>(1, count);
  }

  /// Clusters of the tokens from clustered_end_ to `end`.
  void add_clusters(std::int64_t end, std::int64_t count) {
    if (clustered_end_ >= end) return;
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) {
      const Random draws(static_cast<std::uint64_t>(choice_.integer("seed")),
                         "retro-infer layer " + std::to_string(layer_) + " head " + std::to_string(h) +
                             " token " + std::to_string(clustered_end_));
      const KeyClusters found = cluster_keys(in_, h, clustered_end_, end, count,
                                             choice_.integer("iterations"), Nearest::kDistance, draws);
      centres_[static_cast<std::size_t>(h)] += static_cast<std::int64_t>(found.centres.rows);
      for (std::size_t k = 0; k < found.centres.rows; ++k) {
        if (found.members[k].empty()) continue;
        const auto centre = found.centres.row(k);
        clusters_[static_cast<std::size_t>(h)].push_back({.centre = {centre.begin(), centre.end()},
                                                          .members = found.members[k],
                                                          .values = values_of(h, found.members[k])});
      }
    }
    clustered_end_ = end;
  }

  [[nodiscard]] std::vector<double> values_of(std::int32_t head,
                                              const std::vector<std::int32_t>& tokens) const {
    std::vector<double> out;
    if (in_.values.empty()) return out;
    const auto size = static_cast<std::size_t>(in_.value_size);
    out.resize(size);
    for (const std::int32_t token : tokens)
      for (std::size_t c = 0; c < size; ++c)
        out[c] += static_cast<double>(
            in_.values[static_cast<std::size_t>(head)][static_cast<std::size_t>(token) * size + c]);
    return out;
  }

  /// [cluster] the logit that its centre would have.
  [[nodiscard]] std::vector<double> logits_of(std::int64_t t, std::int32_t query_head) const {
    const auto query = query_of(in_, query_head, t);
    std::vector<double> out;
    for (const Cluster& each : clusters_[static_cast<std::size_t>(query_head / group_of(in_))]) {
      double sum = 0;
      for (std::size_t c = 0; c < query.size(); ++c) sum += static_cast<double>(query[c]) * each.centre[c];
      out.push_back(in_.logit(query_head, t, t, sum * in_.scale));
    }
    return out;
  }

  /// Chooses clusters by the softmax over centres, summed over the query heads of the KV head; the lower one of equals.
  void choose(std::int64_t t, std::int32_t head, std::int64_t wanted, std::int64_t estimated,
              std::span<ReadSet> sets) {
    const auto& clusters = clusters_[static_cast<std::size_t>(head)];
    const auto first = head * group_of(in_);
    std::vector<std::vector<double>> logits;
    std::vector<double> score(clusters.size());
    for (std::size_t q = 0; q < sets.size(); ++q) {
      logits.push_back(logits_of(t, first + static_cast<std::int32_t>(q)));
      std::vector<double> weights = logits.back();
      const double sum = attention::exp_with_sink(weights, -std::numeric_limits<double>::infinity()).sum;
      for (std::size_t k = 0; k < score.size(); ++k) score[k] += weights[k] / sum;
    }
    std::vector<std::size_t> order(clusters.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
    ReadSet set;
    append_range(0, sinks_, set);
    for (std::size_t i = 0; i < static_cast<std::size_t>(wanted); ++i)
      set.insert(set.end(), clusters[order[i]].members.begin(), clusters[order[i]].members.end());
    append_range(clustered_end_, t + 1, set);
    std::sort(set.begin(), set.end());
    for (std::size_t q = 0; q < sets.size(); ++q) {
      sets[q] = set;
      auto& estimates = estimates_[static_cast<std::size_t>(first) + q];
      for (auto i = static_cast<std::size_t>(wanted); i < static_cast<std::size_t>(wanted + estimated); ++i) {
        const Cluster& each = clusters[order[i]];
        estimates.push_back({.tokens = static_cast<double>(each.members.size()),
                             .logit = logits[q][order[i]],
                             .values = each.values});
      }
    }
  }

  const attention::LayerTensors& in_;
  const Choice& choice_;
  std::int32_t layer_;
  std::int64_t element_bytes_;
  std::int64_t sinks_;
  std::vector<std::vector<Cluster>> clusters_;    ///< [KV head]
  std::vector<std::int64_t> centres_;             ///< [KV head]
  std::vector<std::vector<Estimate>> estimates_;  ///< [query head]
  std::vector<std::int64_t> read_bytes_;          ///< [KV head]
  std::int64_t clustered_end_;                    ///< tokens from sinks_ to this one are in clusters
};

Status check(const ReaderInput& input) {
  if (input.tensors.window == 0) return Done{};
  return bad_input("estimates unread tokens by sums over clusters, but the sliding window of layer " +
                   std::to_string(input.layer.layer) + " can cut through a cluster")
      .at_field(input.choice.name());
}

std::unique_ptr<LayerReader> make(const ReaderInput& input) {
  return std::make_unique<RetroInfer>(input);
}

}  // namespace

extern const ReaderKind kMember;
const ReaderKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "retro-infer",
                   .summary = "Reads the best key clusters, first and recent tokens; the next-best clusters "
                              "are estimated from their centres, sizes and sums of values",
                   .source = "arXiv 2505.02922 (RetroInfer), 2409.10516 (RetrievalAttention), "
                             "microsoft/RetrievalAttention@2a66c4c",
                   .params = kParams,
                   .divergences =
                       "The original clusters segments of 8192 tokens, and rounds the number of clusters for "
                       "its kernels; kvplan clusters the whole prompt at once, by seeded k-means. All query "
                       "heads of a KV head read the same clusters, as in the original. Estimated clusters "
                       "count in the output error, not in the attention mass. RetrievalAttention's graph "
                       "over keys and the on-device page cache are not modelled."},
    .budget = "budget",
    .check = check,
    .make = make};

}  // namespace kvplan::readers::retro_infer
