#include "traces/synth/parts.h"

namespace kvplan::traces::lengths_given {
namespace {

class Given final : public LengthSource {
 public:
  RequestLengths draw(const Arrival& arrival) override { return arrival.lengths; }
};

Result<std::unique_ptr<LengthSource>> make(const Choice& /*choice*/, const PartContext& /*context*/) {
  return std::unique_ptr<LengthSource>(std::make_unique<Given>());
}

}  // namespace

extern const LengthsEntry kMember;
const LengthsEntry kMember{
    .descriptor = {.family = "lengths",
                   .name = "given",
                   .summary =
                       "The lengths that belong to the arrivals: those of the other trace, or of the client.",
                   .source = "kvplan",
                   .params = {}},
    .make = make,
    .from_arrivals = true};

}  // namespace kvplan::traces::lengths_given
