// Everything is stored as the model computes it.
#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"

namespace kvplan::formats::full {
namespace {

class Full final : public QuantisedCodec {
 public:
  explicit Full(const Shape& shape) : QuantisedCodec(shape, {.form = CodeForm::kNone}) {}
};

std::unique_ptr<Codec> make(const Choice& /*choice*/, const Shape& shape) {
  return std::make_unique<Full>(shape);
}

/// 2 bytes per element.
Regions bytes_of(const Choice& /*choice*/, const Shape& shape, const Lengths& lengths, Side side) {
  return split_bytes(shape, side, {.exact = lengths.stored()}, 0);
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "full",
                   .summary = "2 bytes per element, lossless",
                   .source = "kvplan",
                   .params = {}},
    .golden_name = "full",
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens}};

}  // namespace kvplan::formats::full

namespace kvplan::formats::bf16 {

using namespace full;

/// In `kvplan frontier`, `full` means a recording's own elements, so 2 bytes per element need another name.
extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "bf16",
                   .summary = "Counts 2 bytes per element, whatever element size the recording has; recorded "
                              "numbers are not rounded.",
                   .source = "kvplan",
                   .params = {}},
    .golden_name = "bf16",
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens}};

}  // namespace kvplan::formats::bf16
