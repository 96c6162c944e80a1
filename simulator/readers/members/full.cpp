// Reads everything: the reader with which others are compared.
#include "simulator/readers/reader.h"

namespace kvplan::readers::full {
namespace {

class Full final : public LayerReader {
 public:
  explicit Full(const attention::LayerTensors& tensors) : in_(tensors) {}
  void read(std::int64_t t, const attention::LayerRows& /*rows*/, std::span<ReadSet> sets) override {
    for (ReadSet& set : sets) append_range(in_.first_seen(t), t + 1, set);
  }

 private:
  const attention::LayerTensors& in_;
};

std::unique_ptr<LayerReader> make(const ReaderInput& input) {
  return std::make_unique<Full>(input.tensors);
}

Result<CountedReads> counted(const UnrecordedHead& /*head*/) {
  return CountedReads{};
}

}  // namespace

extern const ReaderKind kMember;
const ReaderKind kMember{.descriptor = {.family = kFamily,
                                        .name = "full",
                                        .summary = "Reads everything",
                                        .source = "kvplan",
                                        .params = {}},
                         .ranks_products = false,
                         .counted = counted,
                         .make = make};

}  // namespace kvplan::readers::full
