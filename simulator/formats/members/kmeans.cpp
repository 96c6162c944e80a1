// Clusters of the prompt: each token between the first and the last ones is stored as the centre of its cluster.
#include <algorithm>
#include <array>
#include <bit>

#include "simulator/formats/clusters.h"
#include "simulator/formats/formats.h"

namespace kvplan::formats::kmeans {
namespace {

constexpr std::array<std::string_view, 2> kForms{"paired", "seed"};
constexpr std::array kParams{
    Param{
        .name = "clusters", .help = "Number of clusters", .fallback = "64", .low = 1, .high = kMostChannels},
    Param{.name = "iterations",
          .help = "Maximum number of iterations of Lloyd's k-means algorithm",
          .fallback = "20",
          .low = 1,
          .high = 1000},
    Param{.name = "recent",
          .help = "Last tokens of the prompt, which stay exact",
          .unit = Unit::kTokens,
          .fallback = "32",
          .low = 0,
          .high = kMostTokens},
    Param{.name = "sinks",
          .help = "First tokens, which stay exact",
          .unit = Unit::kTokens,
          .fallback = "4",
          .low = 0,
          .high = kMostTokens},
    Param{.name = "seed",
          .help = "Seed of the initial centres",
          .fallback = "0",
          .low = 0,
          .high = 9007199254740992.0},
    Param{.name = "form",
          .help = "paired: cluster the keys of each head, and store with each centre the mean of its values. "
                  "seed: cluster keys of all heads together and values separately, as in the design notes",
          .kind = ParamKind::kText,
          .fallback = "paired",
          .choices = kForms}};

struct ClusterOptions {
  std::int64_t clusters;
  std::int64_t iterations;
  std::int32_t recent;
  std::int32_t sinks;
  std::uint64_t seed;
  bool paired;
};

constexpr std::int64_t kSizeBytes = 4;  ///< bytes for the number of tokens in a cluster

/// Bits that identify one of this many centres.
std::int64_t label_bits(std::int64_t centres) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(centres - 1)));
}

class Kmeans final : public Codec {
 public:
  Kmeans(const Shape& shape, const ClusterOptions& options)
      : Codec(shape, 0, 0), options_(options), centres_(static_cast<std::size_t>(shape.kv_heads)) {}

  [[nodiscard]] CodeForm code_form() const override { return CodeForm::kLabels; }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out;
    std::int64_t clustered = 0;
    for (const Plane& plane : planes(side)) {
      out.exact += plane.exact_tokens() * plane.size() * 2;
      clustered += plane.tokens() - plane.exact_tokens();
    }
    const std::int64_t size = shape().size(side);
    if (options_.paired) {
      for (const std::int64_t centres : centres_) {
        out.centroids += centres * size * 2;
        if (side == Side::kKeys) out.index += centres * kSizeBytes;
      }
    } else {
      const std::int64_t centres = centres_.front();
      out.centroids = centres * size * 2;
      if (centres > 0) out.index = (clustered * label_bits(centres) + 7) / 8;
    }
    return out;
  }

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override {
    if (options_.paired) return pair_all();
    for (const Side side : kSides) cluster_together(side);
  }

 private:
  [[nodiscard]] std::int32_t end(std::int32_t head) const {
    return std::max(plane(Side::kKeys, head).tokens() - options_.recent, options_.sinks);
  }
  [[nodiscard]] Random draws(std::int32_t stream) const {
    return Random(options_.seed + 0x9E3779B97F4A7C15ULL * (1 + static_cast<std::uint64_t>(stream)));
  }
  void add_rows(Side side, std::int32_t head, Matrix& to) const {
    const Plane& plane = this->plane(side, head);
    for (std::int32_t i = options_.sinks; i < end(head) && i < plane.tokens(); ++i) {
      const auto x = plane.stored(i);
      to.data.insert(to.data.end(), x.begin(), x.end());
      ++to.rows;
    }
  }
  [[nodiscard]] Matrix no_rows(Side side) const {
    Matrix out;
    out.columns = static_cast<std::size_t>(shape().size(side));
    return out;
  }

  /// Stores the clustered tokens of a head as the centres of their labels.
  void put(Side side, std::int32_t head, const Matrix& centres, std::span<const std::int32_t> labels) {
    Plane& plane = plane_of(side, head);
    for (std::size_t k = 0; k < centres.rows; ++k) plane.begin_block(0);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto at = options_.sinks + static_cast<std::int32_t>(i);
      const auto centre = centres.row(static_cast<std::size_t>(labels[i]));
      std::copy(centre.begin(), centre.end(), plane.stored(at).begin());
      plane.join(at, labels[i]);
    }
  }

  void pair_all() {
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      Matrix keys = no_rows(Side::kKeys);
      Matrix values = no_rows(Side::kValues);
      add_rows(Side::kKeys, h, keys);
      add_rows(Side::kValues, h, values);
      if (keys.rows == 0) continue;
      const Clusters found = cluster(keys, options_.clusters, options_.iterations, draws(h));
      Matrix means(found.centres.rows, values.columns);
      std::vector<std::int64_t> sizes(means.rows);
      for (std::size_t i = 0; i < values.rows; ++i) {
        const auto k = static_cast<std::size_t>(found.labels[i]);
        ++sizes[k];
        for (std::size_t c = 0; c < values.columns; ++c) means.at(k, c) += values.at(i, c);
      }
      for (std::size_t k = 0; k < means.rows; ++k)
        for (double& mean : means.row(k))
          if (sizes[k] > 0) mean /= static_cast<double>(sizes[k]);
      put(Side::kKeys, h, found.centres, found.labels);
      put(Side::kValues, h, means, found.labels);
      centres_[static_cast<std::size_t>(h)] = static_cast<std::int64_t>(means.rows);
    }
  }

  void cluster_together(Side side) {
    Matrix points = no_rows(side);
    std::vector<std::size_t> begins;
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      begins.push_back(points.rows);
      add_rows(side, h, points);
    }
    begins.push_back(points.rows);
    if (points.rows == 0) return;
    const Clusters found =
        cluster(points, options_.clusters, options_.iterations, draws(side == Side::kKeys ? 0 : 1));
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      const auto begin = begins[static_cast<std::size_t>(h)];
      put(side, h, found.centres,
          std::span(found.labels).subspan(begin, begins[static_cast<std::size_t>(h) + 1] - begin));
    }
    centres_.front() = static_cast<std::int64_t>(found.centres.rows);
  }

  ClusterOptions options_;
  std::vector<std::int64_t> centres_;  ///< [KV head]; if all heads share centres, only the first is used
};

Status check(const Choice& choice, const Shape& /*shape*/, std::int64_t prompt) {
  const std::int64_t exact = choice.integer("recent") + choice.integer("sinks");
  if (exact >= prompt)
    return wrong_param(choice, "recent",
                       "less than the prompt's " + std::to_string(prompt) + " tokens, together with sinks");
  return Done{};
}

ClusterOptions options_of(const Choice& choice) {
  return {.clusters = choice.integer("clusters"),
          .iterations = choice.integer("iterations"),
          .recent = static_cast<std::int32_t>(choice.integer("recent")),
          .sinks = static_cast<std::int32_t>(choice.integer("sinks")),
          .seed = static_cast<std::uint64_t>(choice.integer("seed")),
          .paired = choice.text("form") == "paired"};
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Kmeans>(shape, options_of(choice));
}

/// Centres of the prompt's tokens between the first and the last ones, with their sizes or labels; all other tokens
/// are exact. A label is freed with its token, a centre is not.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const ClusterOptions options = options_of(choice);
  const std::int64_t clustered = std::max<std::int64_t>(lengths.prompt - options.sinks - options.recent, 0);
  const std::int64_t tables = options.paired ? shape.kv_heads : 1;
  const std::int64_t points = clustered * shape.kv_heads / tables;  // clustered tokens of one table
  const std::int64_t centres = std::min(options.clusters, points);
  const std::int64_t left = Left(lengths).tokens(options.sinks, options.sinks + clustered);
  Regions out = split_bytes(shape, side, {.exact = lengths.stored() - left}, 0);
  out.centroids = tables * centres * shape.size(side) * 2;
  if (options.paired) {
    if (side == Side::kKeys) out.index = tables * centres * kSizeBytes;
  } else if (centres > 0) {
    out.index = (left * shape.kv_heads * label_bits(centres) + 7) / 8;
  }
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "kmeans",
         .summary = "Stores prompt tokens as the centres of their clusters; first, last and generated tokens "
                    "stay exact",
         .source = "kvplan's design notes on KV caches (k-means)",
         .params = kParams,
         .divergences =
             "The design notes use scikit-learn's MiniBatchKMeans, with results that depend on the library "
             "version; kvplan runs Lloyd's algorithm over all points. Attention to every token of a cluster "
             "equals attention to its centre with the logarithm of the cluster size added to the logit."},
    .golden_name = "kmeans",
    .exactness = Exactness::kTolerance,
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_position = always_by_position}};

}  // namespace kvplan::formats::kmeans
