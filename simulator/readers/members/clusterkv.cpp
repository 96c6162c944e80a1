// ClusterKV: keys are clustered, clusters are ranked by the product of the query with their centres.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "simulator/readers/key_clusters.h"
#include "simulator/readers/reader.h"

namespace kvplan::readers::clusterkv {
namespace {

constexpr std::int64_t kTokensPerCluster = 80;
constexpr std::array kParams{
    attention::tokens_param("budget",
                            "Prompt tokens that each query head reads, including the first ones; later "
                            "tokens are read in addition",
                            1),
    Param{.name = "sinks",
          .help = "First tokens, always read",
          .unit = Unit::kTokens,
          .fallback = "16",
          .low = 0,
          .high = attention::kMaxTokens},
    Param{.name = "clusters",
          .help = "Number of clusters of the prompt's keys per KV head; 0: one for each 80 prompt tokens",
          .fallback = "0",
          .low = 0,
          .high = 65536},
    Param{.name = "iterations",
          .help = "Maximum number of iterations of Lloyd's k-means algorithm",
          .fallback = "20",
          .low = 1,
          .high = 1000},
    Param{.name = "window",
          .help = "Generated tokens are clustered in windows of this size; an incomplete window is always "
                  "read; 0: all generated tokens are read",
          .unit = Unit::kTokens,
          .fallback = "0",
          .low = 0,
          .high = attention::kMaxTokens},
    Param{.name = "window_clusters",
          .help = "Number of clusters per window of generated tokens",
          .fallback = "4",
          .low = 1,
          .high = 65536},
    Param{.name = "seed",
          .help = "Seed of the initial centres",
          .fallback = "0",
          .low = 0,
          .high = 9007199254740992.0},
    kShareParam,
    dense_layers_param("2")};

constexpr std::int64_t kOrderBytes = 4;  ///< a token's position in the list that is ordered by clusters
constexpr std::int64_t kRangeBytes = 8;  ///< a cluster's range in that list

class ClusterKv final : public LayerReader {
 public:
  explicit ClusterKv(const ReaderInput& input)
      : in_(input.tensors),
        choice_(input.choice),
        layer_(input.layer.layer),
        prompt_(input.prompt),
        budget_(input.choice.integer("budget")),
        sinks_(std::min(input.choice.integer("sinks"), input.prompt)),
        window_(input.choice.integer("window")),
        share_(input.choice.text("share")),
        centre_bytes_(input.tensors.key_size * input.element_bytes + kRangeBytes),
        clusters_(static_cast<std::size_t>(in_.kv_heads)),
        clustered_end_(sinks_) {
    const std::int64_t given = input.choice.integer("clusters");
    add_clusters(prompt_, given > 0 ? given : std::max<std::int64_t>(1, prompt_ / kTokensPerCluster));
    clustered_end_ = prompt_;
  }

  void append(std::int64_t t) override {
    if (window_ > 0 && t == clustered_end_ + window_) add_clusters(t, choice_.integer("window_clusters"));
  }

  void read(std::int64_t t, const attention::LayerRows& /*rows*/, std::span<ReadSet> sets) override {
    first_ = in_.first_seen(t);
    ranked_ = false;
    const std::int64_t begin = std::max(first_, sinks_);
    const std::int64_t of_clusters = std::max<std::int64_t>(0, clustered_end_ - begin);
    const std::int64_t wanted = budget_ - sinks_;
    if (of_clusters <= wanted) {
      for (ReadSet& set : sets) append_range(first_, t + 1, set);
      return;
    }
    ranked_ = true;
    const std::int32_t group = group_of(in_);
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) {
      std::vector<std::vector<double>> scores(static_cast<std::size_t>(group));
      for (std::int32_t q = 0; q < group; ++q)
        scores[static_cast<std::size_t>(q)] = products(h, query_of(in_, h * group + q, t));
      share_scores(share_, scores);
      for (std::int32_t q = 0; q < group; ++q) {
        ReadSet& set =
            sets[static_cast<std::size_t>(h) * static_cast<std::size_t>(group) + static_cast<std::size_t>(q)];
        append_range(first_, std::min(sinks_, t + 1), set);
        take(clusters_[static_cast<std::size_t>(h)],
             scores[scores.size() == 1 ? 0 : static_cast<std::size_t>(q)], wanted, set);
        append_range(std::max(first_, clustered_end_), t + 1, set);
      }
    }
  }

  [[nodiscard]] std::int64_t kept_metadata_bytes(std::int32_t head) const override {
    return centres_of(head) * centre_bytes_ + (clustered_end_ - sinks_) * kOrderBytes;
  }
  [[nodiscard]] std::int64_t read_metadata_bytes(std::int32_t head) const override {
    return ranked_ ? centres_of(head) * centre_bytes_ : 0;
  }
  [[nodiscard]] std::int64_t entry_bytes(std::int32_t position) const override {
    return ranked_ && position >= sinks_ && position < clustered_end_ ? kOrderBytes : 0;
  }

 private:
  [[nodiscard]] std::int64_t centres_of(std::int32_t head) const {
    std::int64_t sum = 0;
    for (const KeyClusters& each : clusters_[static_cast<std::size_t>(head)])
      sum += static_cast<std::int64_t>(each.centres.rows);
    return sum;
  }

  /// Clusters of the tokens from clustered_end_ to `end`.
  void add_clusters(std::int64_t end, std::int64_t count) {
    if (clustered_end_ == end) return;
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) {
      const Random draws(static_cast<std::uint64_t>(choice_.integer("seed")),
                         "clusterkv layer " + std::to_string(layer_) + " head " + std::to_string(h) +
                             " token " + std::to_string(clustered_end_));
      clusters_[static_cast<std::size_t>(h)].push_back(cluster_keys(
          in_, h, clustered_end_, end, count, choice_.integer("iterations"), Nearest::kCosine, draws));
    }
    clustered_end_ = end;
  }

  /// [cluster] the products, those of the prompt's clusters first.
  [[nodiscard]] std::vector<double> products(std::int32_t head, std::span<const float> query) const {
    std::vector<double> out;
    for (const KeyClusters& each : clusters_[static_cast<std::size_t>(head)])
      for (std::size_t k = 0; k < each.centres.rows; ++k) {
        double sum = 0;
        for (std::size_t c = 0; c < query.size(); ++c)
          sum += static_cast<double>(query[c]) * each.centres.at(k, c);
        out.push_back(sum);
      }
    return out;
  }

  /// Clusters by descending score (the lower index of equals), their oldest tokens first, until there are `wanted`.
  void take(const std::vector<KeyClusters>& clusters, const std::vector<double>& scores, std::int64_t wanted,
            ReadSet& set) const {
    std::vector<const std::vector<std::int32_t>*> members;
    for (const KeyClusters& each : clusters)
      for (const auto& of_cluster : each.members) members.push_back(&of_cluster);
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    const std::size_t begin = set.size();
    for (const std::size_t k : order)
      for (const std::int32_t position : *members[k])
        if (position >= first_ && static_cast<std::int64_t>(set.size() - begin) < wanted)
          set.push_back(position);
    std::sort(set.begin() + static_cast<std::ptrdiff_t>(begin), set.end());
  }

  const attention::LayerTensors& in_;
  const Choice& choice_;
  std::int32_t layer_;
  std::int64_t prompt_;
  std::int64_t budget_;
  std::int64_t sinks_;
  std::int64_t window_;
  std::string share_;
  std::int64_t centre_bytes_;
  std::vector<std::vector<KeyClusters>> clusters_;  ///< [KV head][prompt, window, ...]
  std::int64_t clustered_end_;                      ///< tokens from sinks_ to this one are in clusters
  std::int64_t first_{0};                           ///< first token that the latest query sees
  bool ranked_{false};                              ///< true: clusters were ranked in the latest step
};

Status check(const ReaderInput& input) {
  const std::int64_t sinks = input.choice.integer("sinks");
  if (input.choice.integer("budget") > sinks) return Done{};
  return wrong_param(input.choice, "budget", "more than the " + std::to_string(sinks) + " first tokens");
}

std::unique_ptr<LayerReader> make(const ReaderInput& input) {
  return std::make_unique<ClusterKv>(input);
}

}  // namespace

extern const ReaderKind kMember;
const ReaderKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "clusterkv",
         .summary = "Reads first tokens, generated tokens, and the key clusters with the centres that have "
                    "the largest product with the query (the last cluster partly)",
         .source = "arXiv 2412.03213 (ClusterKV), sjtu-zhao-lab/ClusterKV@9579755",
         .params = kParams,
         .divergences =
             "The paper has one cluster per 80 prompt tokens; the accuracy code has 400 (clusters). The "
             "accuracy code clusters only the prompt and reads all generated tokens. Paper and timed code "
             "cluster generated tokens by 320 into 4 clusters (window=320). Centres come from k-means by "
             "distance; then each token is assigned to the centre with the largest cosine, as in the "
             "accuracy code. Initial centres there depend on a library; kvplan's draws are seeded. A prompt "
             "within the budget is read whole without ranking. The cache of recently read clusters is not "
             "modelled. Ranking for all query heads of a KV head together (share) is kvplan's addition."},
    .budget = "budget",
    .dense_layers = true,
    .check = check,
    .make = make};

}  // namespace kvplan::readers::clusterkv
