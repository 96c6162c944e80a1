// KIVI: keys by channel, values by token, and the newest tokens exactly.
#include <algorithm>
#include <array>

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"

namespace kvplan::formats::kivi {
namespace {

constexpr std::array kParams{
    bits_param("Bits per code", "2"),
    Param{.name = "group",
          .help = "Group size for scales: tokens of a key channel, and channels of a value",
          .fallback = "32",
          .low = 1,
          .high = kMostChannels},
    Param{.name = "residual",
          .help = "Number of keys that are encoded together, and number of newest values that stay exact",
          .unit = Unit::kTokens,
          .fallback = "128",
          .low = 1,
          .high = kMostTokens}};

class Kivi final : public QuantisedCodec {
 public:
  Kivi(const Shape& shape, int bits, std::int32_t group, std::int32_t residual)
      : QuantisedCodec(shape, {.key_group = 1, .value_group = group}),
        bits_(bits),
        group_(group),
        residual_(residual) {}

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override { encode(); }
  void on_step_end() override { encode(); }

 private:
  void encode() {
    for (Plane& keys : planes(Side::kKeys)) {
      const std::int32_t exact = tail(keys);
      const std::int32_t begin = keys.tokens() - exact;
      const std::int32_t end = begin + exact / residual_ * residual_;
      for (std::int32_t i = begin; i < end; i += group_) encode_channels(keys, i, i + group_, bits_);
    }
    for (Plane& values : planes(Side::kValues))
      for (std::int32_t i = values.tokens() - tail(values); i + residual_ < values.tokens(); ++i)
        encode_token(values, i, bits_);
  }

  int bits_;
  std::int32_t group_;
  std::int32_t residual_;
};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  const std::int64_t group = choice.integer("group");
  if (choice.integer("residual") % group != 0)
    return wrong_param(choice, "residual", "a multiple of group = " + std::to_string(group));
  if (shape.value_size % group != 0)
    return wrong_param(choice, "group",
                       "a divisor of the " + std::to_string(shape.value_size) + " channels of a value");
  return Done{};
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Kivi>(shape, static_cast<int>(choice.integer("bits")),
                                static_cast<std::int32_t>(choice.integer("group")),
                                static_cast<std::int32_t>(choice.integer("residual")));
}

/// Keys: whole residuals, with a scale and a zero point of 2 bytes for each channel of each group of tokens. Values:
/// all but the last residual, with a scale and a zero point for each group of channels of each token.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const std::int64_t group = choice.integer("group");
  const std::int64_t residual = choice.integer("residual");
  const Left left(lengths);
  const bool keys = side == Side::kKeys;
  const std::int64_t encoding =
      lengths.prompt +
      encoding_steps(lengths, keys ? residual : residual + 1);  // tokens that could be encoded
  const std::int64_t end =
      keys ? encoding / residual * residual : std::max<std::int64_t>(encoding - residual, 0);
  const std::int64_t coded = left.tokens(0, end);
  Regions out =
      split_bytes(shape, side, {.coded = coded, .exact = lengths.stored() - coded}, choice.integer("bits"));
  const std::int64_t scales =
      keys ? left.groups(0, end, group) * shape.key_size : coded * shape.value_size / group;
  out.scales = shape.kv_heads * scales * 2;
  out.zeros = out.scales;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "kivi",
                   .summary =
                       "Few-bit keys quantised per channel, values per token; the newest tokens stay exact",
                   .source = "arXiv 2402.02750; jy-yuan/KIVI@876b4d2 models/llama_kivi.py, quant/new_pack.py",
                   .params = kParams,
                   .divergences = "If all numbers of a group are equal, the public code divides zero by "
                                  "zero; in kvplan such a group decodes to the same numbers."},
    .golden_name = "kivi",
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_position = always_by_position}};

}  // namespace kvplan::formats::kivi
