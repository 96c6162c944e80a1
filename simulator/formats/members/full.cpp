// Everything as the model computes it.
#include "simulator/formats/formats.h"
#include "simulator/formats/quantised.h"

namespace kvplan::formats {
namespace {

class Full final : public QuantisedCodec {
 public:
  explicit Full(const Shape& shape) : QuantisedCodec(shape, {.form = CodeForm::kNone}) {}
};

std::unique_ptr<Codec> make(const Choice& /*choice*/, const Shape& shape) {
  return std::make_unique<Full>(shape);
}

}  // namespace

extern const FormatKind kFullFormat;
const FormatKind kFullFormat{.descriptor = {.family = kFamily,
                                            .name = "full",
                                            .summary = "2 bytes an element, nothing is lost",
                                            .source = "kvplan",
                                            .params = {}},
                             .golden_name = "full",
                             .make = make};

}  // namespace kvplan::formats
