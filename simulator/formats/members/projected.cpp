// Palu and LoRC: projections of weights are cut to a low rank. So a token is stored as its coordinates in a basis that
// a group of heads shares and that belongs to the model.
#include <algorithm>
#include <array>

#include "simulator/base/check.h"
#include "simulator/formats/formats.h"
#include "simulator/formats/low_rank.h"

namespace kvplan::formats::projected {
namespace {

constexpr Param rank_param(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .fallback = "256", .low = 1, .high = kMostChannels};
}
constexpr Param kRank =
    rank_param("rank", "Rank of the keys of a group of heads; a side file has its own ranks");
constexpr Param kRankV =
    rank_param("rank_v", "Rank of the values of a group of heads; a side file has its own ranks");
constexpr std::array kPaluParams{kSideParam, kRank, kRankV,
                                 Param{.name = "group",
                                       .help = "KV heads with projections that are factorised together",
                                       .fallback = "4",
                                       .low = 1,
                                       .high = kMostChannels}};
constexpr std::array kLorcParams{kSideParam, kRank, kRankV};

/// KV heads of a group.
std::int32_t heads_of_group(const Choice& choice, const Shape& shape) {
  if (choice.name() != "palu") return shape.kv_heads;
  return static_cast<std::int32_t>(std::min<std::int64_t>(choice.integer("group"), shape.kv_heads));
}
std::int64_t rank_of(const Choice& choice, Side side) {
  return choice.integer(side == Side::kKeys ? "rank" : "rank_v");
}

class Projected final : public LowRankCodec {
 public:
  Projected(const Shape& shape, const SideLayer& layer, std::int32_t group_heads)
      : LowRankCodec(shape), bases_(layer.bases), group_heads_(group_heads) {}

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out;
    const auto& bases = bases_[static_cast<std::size_t>(side)];
    for (std::size_t g = 0; g < bases.size(); ++g)
      out.factors +=
          tokens_of_group(static_cast<std::int32_t>(g)) * static_cast<std::int64_t>(bases[g].rows) * kBytes;
    return out;
  }

 protected:
  void on_append() override {
    for (const Side side : kSides)
      for (std::size_t g = 0; g < bases_[static_cast<std::size_t>(side)].size(); ++g)
        encode(side, static_cast<std::int32_t>(g));
  }

 private:
  [[nodiscard]] std::int32_t first_head(std::int32_t group) const { return group * group_heads_; }

  /// Number of tokens with coordinates in a group: those that any head of the group keeps.
  [[nodiscard]] std::int64_t tokens_of_group(std::int32_t group) const {
    const auto first = positions(first_head(group));
    std::vector<std::int64_t> all(first.begin(), first.end());
    for (std::int32_t h = first_head(group) + 1; h < first_head(group + 1); ++h) {
      const auto other = positions(h);
      if (std::equal(all.begin(), all.end(), other.begin(), other.end())) continue;
      std::vector<std::int64_t> both;
      std::set_union(all.begin(), all.end(), other.begin(), other.end(), std::back_inserter(both));
      all = std::move(both);
    }
    return std::ssize(all);
  }

  /// Encodes the newest append.
  void encode(Side side, std::int32_t group) {
    const Matrix& basis = bases_[static_cast<std::size_t>(side)][static_cast<std::size_t>(group)];
    const auto size = static_cast<std::size_t>(shape().size(side));
    const std::int32_t first = first_head(group);
    const auto fresh_of = [&](std::int32_t head) {
      return positions(head).subspan(static_cast<std::size_t>(fresh(head)));
    };
    const auto newest = fresh_of(first);
    for (std::int32_t h = first; h < first + group_heads_; ++h) {
      const auto others = fresh_of(h);
      KVPLAN_CHECK(std::equal(newest.begin(), newest.end(), others.begin(), others.end()));
      if (plane(side, h).blocks() == 0) plane_of(side, h).begin_block(0);
    }
    std::vector<double> together(basis.columns);
    for (std::int32_t i = 0; i < std::ssize(newest); ++i) {
      for (std::int32_t h = 0; h < group_heads_; ++h) {
        const auto x = plane(side, first + h).stored(fresh(first + h) + i);
        std::copy(x.begin(), x.end(), together.begin() + h * static_cast<std::ptrdiff_t>(size));
      }
      project(basis, basis.rows, together);
      for (std::int32_t h = 0; h < group_heads_; ++h) {
        Plane& plane = plane_of(side, first + h);
        const std::int32_t at = fresh(first + h) + i;
        std::copy_n(together.begin() + h * static_cast<std::ptrdiff_t>(size), size, plane.stored(at).begin());
        plane.join(at, 0);
      }
    }
  }

  std::array<std::vector<Matrix>, 2> bases_;  ///< [side][group]
  std::int32_t group_heads_;
};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  const std::int32_t heads = heads_of_group(choice, shape);
  if (shape.kv_heads % heads != 0)
    return wrong_param(choice, "group", "a divisor of the " + std::to_string(shape.kv_heads) + " KV heads");
  for (const Side side : kSides) {
    const std::int64_t channels = std::int64_t{heads} * shape.size(side);
    if (rank_of(choice, side) > channels)
      return wrong_param(choice, side == Side::kKeys ? "rank" : "rank_v",
                         "at most the " + std::to_string(channels) + " channels of a group of heads");
  }
  return Done{};
}

Status check_side(const Choice& choice, const SideLayer& layer, const Shape& shape) {
  const std::int32_t heads = heads_of_group(choice, shape);
  for (const Side side : kSides) {
    const auto& bases = layer.bases[static_cast<std::size_t>(side)];
    const std::string name = side == Side::kKeys ? "keys" : "values";
    if (bases.empty()) return bad_input("side file has no bases of " + name);
    const auto groups = static_cast<std::size_t>(shape.kv_heads / heads);
    const auto channels = static_cast<std::size_t>(heads) * static_cast<std::size_t>(shape.size(side));
    if (bases.size() != groups || bases.front().columns != channels)
      return bad_input("expected bases of " + name + " for " + std::to_string(groups) + " groups of " +
                       std::to_string(channels) + " channels, found " + std::to_string(bases.size()) +
                       " of " + std::to_string(bases.front().columns));
  }
  return Done{};
}

Choice with_side(const Choice& choice, const SideLayer& layer) {
  Choice out = choice;
  for (const Side side : kSides)
    if (const auto& bases = layer.bases[static_cast<std::size_t>(side)]; !bases.empty())
      out = with_text(out, (side == Side::kKeys ? kRank : kRankV).name, std::to_string(bases.front().rows));
  return out;
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape, const SideLayer& layer) {
  return std::make_unique<Projected>(shape, layer, heads_of_group(choice, shape));
}

/// As many coordinates per token as each group's basis has vectors.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  Regions out;
  out.factors = shape.kv_heads / heads_of_group(choice, shape) * rank_of(choice, side) * lengths.stored() * 2;
  return out;
}

bool joins_heads(const Choice& choice) {
  return choice.name() != "palu" || choice.integer("group") > 1;
}

constexpr FormatKind kind_of(const Descriptor& descriptor) {
  return {
      .descriptor = descriptor,
      .golden_name = descriptor.name,
      .exactness = Exactness::kTolerance,
      .check = check,
      .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens},
      .whole_prompt = true,
      .joins_heads = joins_heads,
      .bytes_alone = "no recording holds the bases of the weights: expected a side file (file=FILE)",
      .side = {.check = check_side, .with_side = with_side, .make = make, .heads_together = heads_of_group}};
}

}  // namespace

}  // namespace kvplan::formats::projected

namespace kvplan::formats::palu {

using namespace projected;

extern const FormatKind kMember;
const FormatKind kMember = kind_of(
    {.family = kFamily,
     .name = "palu",
     .summary = "Coordinates in low-rank bases of the projection weights, shared by groups of heads",
     .source = "arXiv 2407.21118 (Palu); shadowpa0327/Palu@bb22666",
     .params = kPaluParams,
     .divergences = "A weight truncated by SVD, whitened by the inputs' second moment or not, reproduces a "
                    "token's projection onto a basis. The side file holds this basis, whatever program "
                    "computed it. Palu searches a rank per group; in kvplan the side file has one rank for "
                    "keys and one for values per layer. Palu's quantisation of coordinates and biases of "
                    "projections are not modelled. Keys are projected before rotation. The coordinates of a "
                    "token stay while any head of the group keeps the token."});

}  // namespace kvplan::formats::palu

namespace kvplan::formats::lorc {

using namespace projected;

extern const FormatKind kMember;
const FormatKind kMember = kind_of(
    {.family = kFamily,
     .name = "lorc",
     .summary = "Coordinates in low-rank bases of the projection weights, one for the keys and one "
                "for the values of a layer",
     .source = "arXiv 2410.03111 (LoRC)",
     .params = kLorcParams,
     .divergences = "Like palu, with all heads of a layer as one group. The paper, which has no public code, "
                    "gives lower layers a higher rank by condition numbers. A side file can give each layer "
                    "its own ranks; the parameters are the same for all layers."});

}  // namespace kvplan::formats::lorc
