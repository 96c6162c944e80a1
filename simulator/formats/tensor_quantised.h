// Symmetric integers with one scale for the tokens of an append: the formats `int-tensor` and `pyramid-int8`.
#pragma once

#include <array>
#include <string_view>

#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"

namespace kvplan::formats {

/// The tokens that share a scale.
enum class ScaleOf : std::uint8_t {
  kChunk,    ///< each append has its own scale
  kStatic,   ///< the prompt's scale is used for all later tokens
  kRunning,  ///< the greatest scale so far: when it grows, all codes are computed again
};

struct TensorQuantiser {
  int bits{8};
  ScaleOf scale{ScaleOf::kChunk};
  Rounding rounding{Rounding::kEven};
};

/// A scale covers the keys (or values) of all KV heads for the tokens of one append. Block k of a plane is append k; if
/// all appends share a scale, block 0 is everything.
class TensorQuantised : public QuantisedCodec {
 public:
  TensorQuantised(const Shape& shape, const TensorQuantiser& quantiser);
  [[nodiscard]] Regions regions(Side side) const override;

 protected:
  void on_append() override;

 private:
  void encode(Side side);
  void rescale(Side side, double scale);
  [[nodiscard]] double fresh_scale(Side side) const;

  TensorQuantiser quantiser_;
};

/// The newest tokens of a head; `generated` of them were appended one by one after the prompt.
struct NewestTokens {
  std::int64_t newest{1};
  std::int64_t generated{0};
};
/// Bytes of a layer that stores the newest tokens: codes, and a scale (for all heads) for each append with a remaining
/// token; one scale if all appends share it.
Regions tensor_bytes(const TensorQuantiser& quantiser, const Shape& shape, const NewestTokens& tokens,
                     Side side);

/// Bytes of the scales of a side with a scale for each append that has a remaining token. REQUIRES: as Left.
std::int64_t chunk_scale_bytes(const Lengths& lengths);

// Values of the parameter for ScaleOf:
inline constexpr std::array<std::string_view, 3> kScaleChoices{"chunk", "static", "running"};
inline constexpr std::array<std::string_view, 2> kRoundings{"even", "trunc"};
inline constexpr Param kScaleParam{
    .name = "scale",
    .help =
        "Scale: one per append (chunk); that of the prompt, fixed (static); or the largest so far (running), "
        "where a growing scale encodes all codes again",
    .kind = ParamKind::kText,
    .fallback = "chunk",
    .choices = kScaleChoices};
constexpr Param rounding_param(std::string_view fallback) {
  return {.name = "rounding",
          .help = "Round to the nearest code, ties to even, or truncate towards zero",
          .kind = ParamKind::kText,
          .fallback = fallback,
          .choices = kRoundings};
}
TensorQuantiser tensor_quantiser_of(const Choice& choice);

}  // namespace kvplan::formats
