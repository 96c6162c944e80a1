// Precision by age: the newest tokens exactly, older ones in fewer bits, the oldest in the fewest.
#include <algorithm>
#include <array>

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"

namespace kvplan::formats::mixed {
namespace {

constexpr std::array kParams{Param{.name = "recent",
                                   .help = "Newest tokens, which stay exact",
                                   .unit = Unit::kTokens,
                                   .fallback = "128",
                                   .low = 0,
                                   .high = kMostTokens},
                             Param{.name = "middle",
                                   .help = "Number of tokens before the exact ones, stored with middle_bits",
                                   .unit = Unit::kTokens,
                                   .fallback = "512",
                                   .low = 0,
                                   .high = kMostTokens},
                             bits_param("Bits per code of all older tokens", "4"),
                             Param{.name = "middle_bits",
                                   .help = "Bits per code of the middle tokens",
                                   .fallback = "8",
                                   .low = 2,
                                   .high = 8},
                             kGroupParam};

struct Tiers {
  std::int32_t recent;
  std::int32_t middle;
  int bits;
  int middle_bits;
};

class Mixed final : public QuantisedCodec {
 public:
  Mixed(const Shape& shape, const Layout& layout, const Tiers& tiers)
      : QuantisedCodec(shape, layout), tiers_(tiers), old_(static_cast<std::size_t>(shape.kv_heads)) {}

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override { demote(); }
  void on_step_end() override { demote(); }
  void on_drop(std::int32_t head, std::span<const std::int32_t> indices) override {
    std::int32_t& old = old_[static_cast<std::size_t>(head)];
    old -= static_cast<std::int32_t>(std::lower_bound(indices.begin(), indices.end(), old) - indices.begin());
  }

 private:
  /// Moves tokens to lower tiers: an exact token goes straight into its tier, a token of the middle one is decoded.
  void demote() {
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      std::int32_t& old = old_[static_cast<std::size_t>(h)];
      const std::int32_t tokens = plane(Side::kKeys, h).tokens();
      const std::int32_t recent_begin = std::max(tokens - tiers_.recent, 0);
      const std::int32_t middle_begin = std::max(recent_begin - tiers_.middle, 0);
      const std::int32_t old_end = std::max(old, middle_begin);
      for (const Side side : kSides) {
        Plane& plane = plane_of(side, h);
        const std::int32_t exact_begin = tokens - tail(plane);
        for (std::int32_t i = old; i < old_end; ++i) encode_token(plane, i, tiers_.bits);
        for (std::int32_t i = std::max(exact_begin, old_end); i < recent_begin; ++i)
          encode_token(plane, i, tiers_.middle_bits);
      }
      old = old_end;
    }
  }

  Tiers tiers_;
  std::vector<std::int32_t> old_;  ///< [KV head] number of oldest tokens that are in the last tier
};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  return check_group(choice, kGroupParam.name, shape);
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  const std::int64_t group = choice.integer(kGroupParam.name);
  return std::make_unique<Mixed>(
      shape,
      Layout{.key_group = group_of(group, shape.key_size), .value_group = group_of(group, shape.value_size)},
      Tiers{.recent = static_cast<std::int32_t>(choice.integer("recent")),
            .middle = static_cast<std::int32_t>(choice.integer("middle")),
            .bits = static_cast<int>(choice.integer("bits")),
            .middle_bits = static_cast<int>(choice.integer("middle_bits"))});
}

/// Tiers by age; every token outside the newest ones has a scale and a zero point of 2 bytes for each channel group.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const Left left(lengths);
  /// Number of tokens stored after a step that are not among the `newest` newest ones.
  const auto older_than = [&](std::int64_t newest) {
    return left.tokens(
        0, std::max<std::int64_t>(lengths.prompt + encoding_steps(lengths, newest + 1) - newest, 0));
  };
  const std::int64_t old = older_than(choice.integer("recent") + choice.integer("middle"));
  const std::int64_t middle = older_than(choice.integer("recent")) - old;
  const std::int64_t recent = lengths.stored() - middle - old;
  const std::int64_t size = shape.size(side);
  const std::int64_t bits = old * choice.integer("bits") + middle * choice.integer("middle_bits");
  Regions out = split_bytes(shape, side, {.exact = recent}, 0);
  out.codes = (shape.kv_heads * size * bits + 7) / 8;
  out.scales = shape.kv_heads * (middle + old) *
               (size / group_of(choice.integer(kGroupParam.name), shape.size(side))) * 2;
  out.zeros = out.scales;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "mixed",
                   .summary = "Newest tokens are exact, the tokens before them are integers, and all older "
                              "ones have fewer bits",
                   .source = "kvplan, after MiKV (arXiv 2402.18096) and ZipCache (arXiv 2405.14256)",
                   .params = kParams,
                   .divergences = "The papers assign precision by importance. kvplan assigns it by age, so "
                                  "precision levels are ranges of tokens and need no tags."},
    .golden_name = "mixed",
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_position = always_by_position}};

}  // namespace kvplan::formats::mixed
