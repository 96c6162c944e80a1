// Makes the catalogue entry of a policy from its class. Included by the files of the members.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "simulator/replacement/replacements.h"
#include "simulator/replacement/replay.h"

namespace kvplan::replacement {

/// The last parameter of every member except those that know the future.
inline constexpr Param kLeavesParam{
    .name = "leaves",
    .help = "Whether a block can be evicted only after the cached blocks that follow it in their prompts",
    .kind = ParamKind::kFlag,
    .fallback = "false",
    .default_unsaid = true};
/// The parameters of a member that has only kLeavesParam.
inline constexpr std::array<Param, 1> kLeavesAlone{{kLeavesParam}};

/// The share of `whole` that a parameter gives, rounded down; exact if the text is a fraction with parts below
/// 2^31, such as 0.1. REQUIRES: the parameter is a decimal that is not negative; the product is below 2^63.
Result<std::int64_t> part_of(const Choice& choice, std::string_view param, std::int64_t whole);

/// `kParams`: Result<P::Params>(const Choice&, const Room&).
template <class P, auto kParams>
constexpr ReplacementEntry member(const Descriptor& descriptor, bool uses_time = false) {
  return {.descriptor = descriptor,
          .uses_time = uses_time,
          .replay = [](const Choice& choice, const References& refs, std::int64_t capacity,
                       bool (*stop_asked)()) -> Result<Hits> {
            const Room room{.ids = refs.distinct, .capacity = capacity, .categories = refs.category_count};
            KVPLAN_TRY(const typename P::Params params, kParams(choice, room));
            P policy(room, params);
            return choice.flag("leaves") ? replay(policy, LeavesGo{}, refs, capacity, stop_asked)
                                         : replay(policy, AnyGoes{}, refs, capacity, stop_asked);
          },
          .make = [](const Choice& choice, const Room& room) -> Result<std::unique_ptr<Policy>> {
            KVPLAN_TRY(const typename P::Params params, kParams(choice, room));
            return std::unique_ptr<Policy>(std::make_unique<PolicyOf<P>>(room, params));
          }};
}

/// For a member without parameters of its own.
template <class P>
constexpr ReplacementEntry member(const Descriptor& descriptor) {
  return member<P, [](const Choice&, const Room&) -> Result<typename P::Params> {
    return typename P::Params{};
  }>(descriptor);
}

/// The entry with the price of a case in addition to the price of any policy: nanoseconds for each block.
constexpr ReplacementEntry priced(std::int64_t block_ns, ReplacementEntry entry) {
  entry.price.block_ns = block_ns;
  return entry;
}

}  // namespace kvplan::replacement
