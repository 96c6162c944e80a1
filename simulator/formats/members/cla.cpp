// Cross-layer attention: the layers of a group read the keys and values of its first layer, and only those are stored.
#include <array>

#include "simulator/formats/formats.h"

namespace kvplan::formats::cla {
namespace {

constexpr std::array kParams{Param{.name = "span",
                                   .help = "Number of adjacent layers that share keys and values",
                                   .fallback = "2",
                                   .low = 1,
                                   .high = kMostLayers},
                             kLayerParam, kLayersParam};

/// The layer that stores the keys and values which this layer reads.
std::int64_t owner_of(const Choice& choice) {
  return choice.integer("layer") - choice.integer("layer") % choice.integer("span");
}
bool owns(const Choice& choice) {
  return owner_of(choice) == choice.integer("layer");
}

class Cla final : public Codec {
 public:
  Cla(const Shape& shape, bool owner) : Codec(shape, 0, 0, owner ? 0 : shape.kv_heads) {}

  [[nodiscard]] CodeForm code_form() const override { return CodeForm::kNone; }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out;
    for (const Plane& plane : planes(side)) out.exact += plane.exact_tokens() * plane.size() * 2;
    return out;
  }

 protected:
  void on_append() override {
    if (other_heads() == 0) return;
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
        Plane& own = plane_of(side, h);
        const Plane& owner = plane(side, shape().kv_heads + h);
        if (own.blocks() == 0) own.begin_block(0);
        const std::int32_t first = fresh(h);
        const std::int32_t first_of_owner = fresh(shape().kv_heads + h);
        for (std::int32_t i = first; i < own.tokens(); ++i) {
          const auto read = owner.stored(first_of_owner + i - first);
          std::copy(read.begin(), read.end(), own.stored(i).begin());
          own.join(i, 0);
        }
      }
  }
};

Status check(const Choice& choice, const Shape& /*shape*/, std::int64_t /*prompt*/) {
  return check_placed(choice);
}

std::vector<std::int64_t> other_layers(const Choice& choice) {
  return owns(choice) ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{owner_of(choice)};
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Cla>(shape, owns(choice));
}

/// 2 bytes per element in the first layer of a group, nothing in the others.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  return split_bytes(shape, side, {.exact = owns(choice) ? lengths.stored() : 0}, 0);
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "cla",
         .summary =
             "Only the first of several adjacent layers stores keys and values; the other layers read them",
         .source = "arXiv 2405.12981 (Cross-Layer Attention)",
         .params = kParams,
         .divergences =
             "The paper trains models with layers that share keys and values. kvplan's errors are those of a "
             "recorded model without such training, so they say nothing about a trained one. Every layer "
             "still reads the tokens that it attends to, so bytes read do not shrink."},
    .golden_name = "cla",
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens},
    .of_layer = placed,
    .other_layers = other_layers};

}  // namespace kvplan::formats::cla
