// MiniCache: two neighbouring layers share the directions of their keys and values, and each stores its own norms.
// Tokens with the most different directions are stored unchanged in both.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "simulator/attention/policy.h"
#include "simulator/base/check.h"
#include "simulator/base/real.h"
#include "simulator/formats/formats.h"
#include "simulator/formats/loops.h"
#include "simulator/formats/shares.h"
#include "simulator/formats/small_floats.h"

namespace kvplan::formats::minicache {
namespace {

constexpr std::array<std::string_view, 3> kRules{"share", "far", "near"};

using attention::share_param;

constexpr std::array kParams{
    share_param(
        "t",
        "Position of the shared direction on the arc from the lower layer's direction to the upper layer's",
        "0.6"),
    Param{.name = "keep",
          .help = "Which prompt tokens stay unmerged: a fixed share with the largest angles (share), those "
                  "in the far end of the range of angles (far), or those in the near end (near)",
          .kind = ParamKind::kText,
          .fallback = "share",
          .choices = kRules},
    share_param("share", "keep=share: share of the prompt's tokens that stay unmerged", "0.05"),
    share_param("gamma", "keep=far and keep=near: part of the range of angles that stays unmerged", "0.05"),
    share_param("from", "Share of the layers, counted from the lowest, that are not merged", "0.5"),
    kLayerParam,
    kLayersParam};

/// The other layer of the pair; nothing for a layer that is stored unchanged.
std::optional<std::int64_t> partner_of(const Choice& choice) {
  const std::int64_t layer = choice.integer("layer");
  const std::int64_t layers = choice.integer("layers");
  const std::int64_t lower = layer - layer % 2;
  if (lower + 1 >= layers) return std::nullopt;
  if (lower < Share(choice, "from").ceil_of(layers)) return std::nullopt;
  return layer == lower ? lower + 1 : lower;
}

/// Tokens of a prompt that are not merged, with keep=share.
std::int64_t kept_of(const Choice& choice, std::int64_t prompt) {
  return Share(choice, "share").floor_of(prompt);
}

/// The lengths and the angle of the vectors of one token in both layers.
struct Directions {
  double lower_length{0};
  double upper_length{0};
  double angle{0};
};

Directions compare(std::span<const double> lower, std::span<const double> upper) {
  const auto product = [](std::span<const double> a, std::span<const double> b) {
    return dot(a.data(), b.data(), a.size());
  };
  Directions out{.lower_length = std::sqrt(product(lower, lower)),
                 .upper_length = std::sqrt(product(upper, upper))};
  // A vector of length 0 has every direction.
  if (out.lower_length > 0 && out.upper_length > 0)
    out.angle =
        arc_cosine(std::clamp(product(lower, upper) / out.lower_length / out.upper_length, -1.0, 1.0));
  return out;
}

/// The direction at t on the arc between two vectors, in binary16.
std::vector<double> shared_direction(std::span<const double> lower, std::span<const double> upper,
                                     const Directions& of, double t) {
  constexpr double kLeastSine = 1e-8;  // below this, the arc is treated as a line
  double a = 1 - t;
  double b = t;
  const double sine = sine_cosine(of.angle).sine;
  if (sine > kLeastSine) {
    a = sine_cosine((1 - t) * of.angle).sine / sine;
    b = sine_cosine(t * of.angle).sine / sine;
  }
  a = of.lower_length > 0 ? a / of.lower_length : 0;
  b = of.upper_length > 0 ? b / of.upper_length : 0;
  std::vector<double> out(lower.size());
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = a * lower[c] + b * upper[c];
  const double length = std::sqrt(dot(out.data(), out.data(), out.size()));
  for (double& v : out) v = length > 0 ? to_half(v / length) : 0.0;
  return out;
}

class MiniCache final : public Codec {
 public:
  MiniCache(const Shape& shape, const Choice& choice)
      : Codec(shape, 0, 0, partner_of(choice) ? shape.kv_heads : 0),
        choice_(choice),
        upper_(partner_of(choice).value_or(INT64_MAX) < choice.integer("layer")) {
    for (auto& of_side : shared_) of_side.resize(static_cast<std::size_t>(shape.kv_heads));
  }

  [[nodiscard]] CodeForm code_form() const override { return CodeForm::kNone; }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out;
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      const Plane& plane = this->plane(side, h);
      const auto& shared = shared_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)];
      out.exact += plane.exact_tokens() * plane.size() * 2;
      for (std::int32_t i = 0; i < plane.tokens(); ++i) {
        if (!shared[static_cast<std::size_t>(i)]) continue;
        out.factors += plane.size() * kSharedBytes;
        out.scales += kLengthBytes;
        if (plane.block(i) == Plane::kExact) out.index += kIndexBytes;
      }
    }
    return out;
  }

  // A layer's part: half of the 2 bytes of a direction's element and of the 4 bytes of a kept token's position, and
  // all of its own norm.
  static constexpr std::int64_t kSharedBytes = 1;
  static constexpr std::int64_t kIndexBytes = 2;
  static constexpr std::int64_t kLengthBytes = 2;

 protected:
  void on_append() override {
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h)
        shared_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)].resize(
            static_cast<std::size_t>(plane(side, h).tokens()), false);
  }
  void on_prompt_end(const PromptQueries& /*queries*/) override {
    if (other_heads() == 0) return;
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h) merge(side, h);
  }
  void on_drop(std::int32_t head, std::span<const std::int32_t> indices) override {
    if (head >= shape().kv_heads) return;
    for (auto& of_side : shared_) {
      auto& shared = of_side[static_cast<std::size_t>(head)];
      for (auto at = indices.rbegin(); at != indices.rend(); ++at) shared.erase(shared.begin() + *at);
    }
  }

 private:
  void merge(Side side, std::int32_t head) {
    Plane& own = plane_of(side, head);
    const Plane& other = plane(side, shape().kv_heads + head);
    const Plane& lower = upper_ ? other : own;
    const Plane& upper = upper_ ? own : other;
    KVPLAN_CHECK(own.tokens() == other.tokens());
    std::vector<Directions> all;
    for (std::int32_t i = 0; i < own.tokens(); ++i) all.push_back(compare(lower.stored(i), upper.stored(i)));
    const std::vector<bool> kept = kept_tokens(all);
    auto& shared = shared_[static_cast<std::size_t>(side)][static_cast<std::size_t>(head)];
    std::fill(shared.begin(), shared.end(), true);
    const std::int32_t block = own.begin_block(0);
    for (std::int32_t i = 0; i < own.tokens(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (kept[at]) continue;
      const auto direction =
          shared_direction(lower.stored(i), upper.stored(i), all[at], choice_.decimal("t"));
      const double length = to_half(upper_ ? all[at].upper_length : all[at].lower_length);
      const auto to = own.stored(i);
      for (std::size_t c = 0; c < to.size(); ++c) to[c] = direction[c] * length;
      own.join(i, block);
    }
  }

  [[nodiscard]] std::vector<bool> kept_tokens(const std::vector<Directions>& all) const {
    std::vector<bool> out(all.size(), false);
    if (all.empty()) return out;
    const std::string& rule = choice_.text("keep");
    if (rule == "share") {
      std::vector<std::size_t> order(all.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      // Of equal angles the newer token stays unchanged.
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return all[a].angle != all[b].angle ? all[a].angle > all[b].angle : a > b;
      });
      const auto count = static_cast<std::size_t>(kept_of(choice_, static_cast<std::int64_t>(all.size())));
      for (std::size_t i = 0; i < count; ++i) out[order[i]] = true;
      return out;
    }
    const auto [least, greatest] = std::minmax_element(
        all.begin(), all.end(), [](const Directions& a, const Directions& b) { return a.angle < b.angle; });
    const double part = choice_.decimal("gamma") * (greatest->angle - least->angle);
    for (std::size_t i = 0; i < all.size(); ++i)
      out[i] = rule == "far" ? all[i].angle > greatest->angle - part : all[i].angle < least->angle + part;
    return out;
  }

  Choice choice_;
  bool upper_;  ///< upper layer of its pair
  /// [side][KV head][token] true: it shares a direction with the other layer. Unused for a token that is not merged.
  std::array<std::vector<std::vector<bool>>, 2> shared_;
};

Status check(const Choice& choice, const Shape& /*shape*/, std::int64_t /*prompt*/) {
  return check_placed(choice);
}

std::vector<std::int64_t> other_layers(const Choice& choice) {
  const auto partner = partner_of(choice);
  return partner ? std::vector<std::int64_t>{*partner} : std::vector<std::int64_t>{};
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<MiniCache>(shape, choice);
}

bool numbers_decide(const Choice& choice) {
  return choice.text("keep") != "share" && partner_of(choice);
}

/// Half of a direction and a length for each token of the prompt; unmerged and later tokens exactly.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const bool alone = !partner_of(choice);
  const std::int64_t kept = alone ? lengths.prompt : kept_of(choice, lengths.prompt);
  Regions out = split_bytes(shape, side, {.exact = kept + lengths.stored() - lengths.prompt}, 0);
  if (alone) return out;
  out.factors = shape.kv_heads * lengths.prompt * shape.size(side) * MiniCache::kSharedBytes;
  out.scales = shape.kv_heads * lengths.prompt * MiniCache::kLengthBytes;
  out.index = shape.kv_heads * kept * MiniCache::kIndexBytes;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "minicache",
         .summary = "Pairs of adjacent layers in the upper half share the directions of the prompt's keys "
                    "and values, and keep their own norms",
         .source = "arXiv 2405.14366 (MiniCache)",
         .params = kParams,
         .divergences =
             "In its text, the paper leaves the most different pairs unmerged, but its formula has the "
             "threshold "
             "d_min + (d_max - d_min) gamma. Applied to angles, this formula leaves the most similar pairs "
             "unmerged, as xKV's code does (abdelfattah-lab/xKV@2c50cc7, keep=near). With keep=far, the "
             "threshold is d_max - (d_max - d_min) gamma. The "
             "default is a fixed share of the tokens with the largest angles, as in KVCache-Factory; its "
             "bytes follow from lengths. As in xKV and KVCache-Factory, generated tokens stay exact, and an "
             "unmerged "
             "token still occupies its slot among the directions. Keys are merged after position encoding. "
             "Each layer of a pair counts half of the shared bytes."},
    .golden_name = "minicache",
    .exactness = Exactness::kTolerance,
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of,
                .numbers_decide = "with keep=far and keep=near, angles decide which tokens are merged",
                .undecided = numbers_decide},
    .of_layer = placed,
    .other_layers = other_layers};

}  // namespace kvplan::formats::minicache
