#include "traces/synth/parts.h"

namespace kvplan::traces::prefixes_none {
namespace {

class None final : public PrefixSource {
 public:
  SharedPrefix draw() override { return {}; }
};

Result<std::unique_ptr<PrefixSource>> make(const Choice& /*choice*/, const PartContext& /*context*/) {
  return std::unique_ptr<PrefixSource>(std::make_unique<None>());
}

}  // namespace

extern const PrefixesEntry kMember;
const PrefixesEntry kMember{
    .descriptor = {.family = "prefixes",
                   .name = "none",
                   .summary =
                       "Requests share no prefix, except the turns of one session, which repeat its history.",
                   .source = "kvplan",
                   .params = {}},
    .make = make};

}  // namespace kvplan::traces::prefixes_none
