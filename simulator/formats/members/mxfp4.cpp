// MXFP4: 4-bit floating point, a power of two as the scale of each 32 channels.
#include <algorithm>
#include <cmath>

#include "simulator/formats/four_bit.h"
#include "simulator/formats/small_floats.h"

namespace kvplan::formats::mxfp4 {
namespace {

constexpr std::int32_t kBlock = 32;
constexpr int kLargestExponent = 2;  ///< of an E2M1 number
constexpr int kMostScale = 127;      ///< E8M0: 2^-127 to 2^127

class Mxfp4 final : public FourBit {
 public:
  explicit Mxfp4(const Shape& shape) : FourBit(shape, kBlock) {}

 protected:
  [[nodiscard]] double scale_of(Side /*side*/, std::span<const double> channels) const override {
    const double most = greatest_size(channels);
    const int exponent =
        most > 0 ? std::clamp(floor_log2(most) - kLargestExponent, -kMostScale, kMostScale) : -kMostScale;
    return std::ldexp(1.0, exponent);
  }
};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  return check_blocks(choice, shape, kBlock);
}
std::unique_ptr<Codec> make(const Choice& /*choice*/, const Shape& shape) {
  return std::make_unique<Mxfp4>(shape);
}

Regions bytes_of(const Choice& /*choice*/, const Shape& shape, const Lengths& lengths, Side side) {
  return four_bit_bytes(shape, lengths, side, kBlock);
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "mxfp4",
                   .summary = "4 bits of floating point per element; each 32 channels of a token share a "
                              "1-byte power-of-two scale",
                   .source = "OCP Microscaling Formats Specification 1.0, 6.3",
                   .params = {}},
    .golden_name = "mxfp4",
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens}};

}  // namespace kvplan::formats::mxfp4
