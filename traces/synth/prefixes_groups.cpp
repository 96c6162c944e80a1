#include <array>

#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::prefixes_groups {
namespace {

class Groups final : public PrefixSource {
 public:
  Groups(Random random, Weighted popularity, std::int32_t tokens, bool added)
      : random_(random), popularity_(std::move(popularity)), tokens_(tokens), added_(added) {}
  SharedPrefix draw() override {
    return {static_cast<std::int32_t>(popularity_.draw(random_)), tokens_, added_};
  }
  [[nodiscard]] std::int64_t most_included() const override { return added_ ? 0 : tokens_; }

 private:
  Random random_;
  Weighted popularity_;
  std::int32_t tokens_;
  bool added_;
};

constexpr std::array<std::string_view, 2> kLengths{"added", "included"};
constexpr std::array<Param, 4> kParams{
    whole_param("groups", "Number of different prefixes", Unit::kNone, "1", 1, 1'000'000),
    whole_param("tokens", "Length of each prefix", Unit::kTokens, "", 1, kMostTokens),
    decimal_param("zipf",
                  "Zipf exponent of the prefixes' popularity: prefix k has probability proportional to 1 / "
                  "k^zipf; 0 = equal probability",
                  Unit::kNone, "1", 0, 10),
    text_param("length",
               "added: the prefix comes before the drawn prompt; included: the prefix is the beginning of "
               "the prompt, and all of a shorter prompt",
               "added", kLengths)};

Result<std::unique_ptr<PrefixSource>> make(const Choice& choice, const PartContext& context) {
  return std::unique_ptr<PrefixSource>(std::make_unique<Groups>(
      context.random, zipf(1, static_cast<std::size_t>(choice.integer("groups")), choice.decimal("zipf")),
      static_cast<std::int32_t>(choice.integer("tokens")), choice.text("length") == "added"));
}

}  // namespace

extern const PrefixesEntry kMember;
const PrefixesEntry kMember{
    .descriptor =
        {.family = "prefixes",
         .name = "groups",
         .summary = "Each request, or session, begins with one of several shared prefixes (system prompts).",
         .source = "kvplan",
         .params = kParams},
    .make = make};

}  // namespace kvplan::traces::prefixes_groups
