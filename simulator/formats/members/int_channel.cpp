// Integers with a scale for each channel of a group of tokens; a group is encoded when it is complete.
#include <array>

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"

namespace kvplan::formats::int_channel {
namespace {

constexpr std::array kParams{bits_param("Bits per code", "8"),
                             Param{.name = "group",
                                   .help = "Tokens of a channel that share a scale",
                                   .unit = Unit::kTokens,
                                   .fallback = "32",
                                   .low = 1,
                                   .high = kMostTokens}};

class IntChannel final : public QuantisedCodec {
 public:
  IntChannel(const Shape& shape, int bits, std::int32_t group)
      : QuantisedCodec(shape, {.key_group = 1, .value_group = 1}), bits_(bits), group_(group) {}

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override { encode(); }
  void on_step_end() override { encode(); }

 private:
  void encode() {
    for (const Side side : kSides)
      for (Plane& plane : planes(side)) {
        std::int32_t exact = tail(plane);
        for (; exact >= group_; exact -= group_) {
          const std::int32_t begin = plane.tokens() - exact;
          encode_channels(plane, begin, begin + group_, bits_);
        }
      }
  }

  int bits_;
  std::int32_t group_;
};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<IntChannel>(shape, static_cast<int>(choice.integer("bits")),
                                      static_cast<std::int32_t>(choice.integer("group")));
}

/// Whole groups of tokens, each with a scale and a zero point of 2 bytes per channel; the remaining tokens are exact.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const Left left(lengths);
  const std::int64_t group = choice.integer("group");
  const std::int64_t end = (lengths.prompt + encoding_steps(lengths, group)) / group * group;
  const std::int64_t groups = left.groups(0, end, group);
  const std::int64_t coded = left.tokens(0, end);
  Regions out =
      split_bytes(shape, side, {.coded = coded, .exact = lengths.stored() - coded}, choice.integer("bits"));
  out.scales = shape.kv_heads * groups * shape.size(side) * 2;
  out.zeros = out.scales;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "int-channel",
                   .summary = "Integers with a 2-byte scale and zero point per channel and group of tokens; "
                              "tokens stay exact until their group is complete",
                   .source = "kvplan",
                   .params = kParams},
    .golden_name = "int_channel",
    .make = make,
    .lengths = {.regions = bytes_of, .by_position = always_by_position}};

}  // namespace kvplan::formats::int_channel
