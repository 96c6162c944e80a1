// A format's bytes from lengths alone: from the number of tokens that a layer was given and that it stores, never from
// their contents. Each member has a rule beside its codec; tests compare both, in every region, over random layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/formats/codec.h"

namespace kvplan::formats {

/// Token counts of one layer, the same in all of its heads.
struct Lengths {
  std::int64_t prompt{1};     ///< tokens appended first, in one call: those that a token policy kept; >= 1
  std::int64_t generated{0};  ///< tokens appended since, one in each step
  std::int64_t dropped{0};    ///< number of these tokens that a policy or a window dropped after steps
  /// Which tokens were dropped, if positions decide: the first `sinks` tokens are always kept, and after each step with
  /// too many tokens the oldest other token is dropped. So at most `stored()` tokens of the prompt are left once any
  /// was dropped. -1: unknown.
  std::int64_t sinks{-1};

  [[nodiscard]] std::int64_t appended() const { return prompt + generated; }
  [[nodiscard]] std::int64_t stored() const { return appended() - dropped; }
};

/// The contents of cache pages: the paging classes of policies and formats (PG1 to PG4 are about dropped tokens: see
/// attention/policy.h and courses/course.h).
enum class Paging : std::uint8_t {
  /// PG0: a token is stored once, when it is appended, and takes the same bytes whatever else is stored; so a page
  /// holds a fixed number of tokens, as with any other number of bytes per token.
  kTokens,
  /// PG5: bytes depend on the other stored tokens and change with age; so pages have their own geometry, and tokens
  /// that are not encoded yet are in separate pages (courses/encoded_course.h).
  kOwn,
};

struct LengthRule {
  /// Bytes of a side, all KV heads, after the prompt's end and the last step; equal to the codec's `regions` at that
  /// time. Null for an alias. REQUIRES: `check` of the format reports no error; the bytes do not depend on numbers
  /// (`undecided`); and either nothing was dropped, or `by_count` holds, or `by_position` holds and positions decide
  /// which tokens were dropped.
  Regions (*regions)(const Choice&, const Shape&, const Lengths&, Side) = nullptr;
  /// For formats with parameters under which bytes depend on the stored numbers (`undecided`): the quantity that
  /// depends on them, as the beginning of a sentence.
  std::string_view numbers_decide{};
  /// What `regions` assume about the numbers, where others would take other bytes: a sentence. Empty: nothing.
  std::string_view assumes{};
  /// Number of newest tokens that the format itself keeps exact. Null: all.
  std::int64_t (*keeps)(const Choice&) = nullptr;
  /// True if every token takes the same bytes, so that it does not matter which were dropped. Null: never.
  bool (*by_count)(const Choice&) = nullptr;
  /// True if it matters which tokens were dropped, and positions decide it (Lengths::sinks). Null: never.
  bool (*by_position)(const Choice&, std::int64_t sinks) = nullptr;
  /// True if heads share stored parts of tokens appended together, which are freed with the last of these tokens:
  /// `by_count` then holds for heads that drop the same tokens. Heads may still have begun with different tokens.
  bool heads_share{false};
  /// The contents of pages with these parameters. Null: always Paging::kOwn.
  Paging (*paging)(const Choice&) = nullptr;
  /// True if the bytes depend on numbers with these parameters. Null: never.
  bool (*undecided)(const Choice&) = nullptr;
};

// Parts that members share:

/// For `by_count`, `by_position` and `paging` of a format for which it always holds.
inline bool always_by_count(const Choice& /*choice*/) {
  return true;
}
inline bool always_by_position(const Choice& /*choice*/, std::int64_t /*sinks*/) {
  return true;
}
inline Paging always_in_tokens(const Choice& /*choice*/) {
  return Paging::kTokens;
}

/// The remaining tokens of a head, by the order in which they were appended. REQUIRES: none was dropped, or positions
/// decide.
class Left {
 public:
  explicit Left(const Lengths& lengths)
      : gone_begin_(std::max<std::int64_t>(lengths.sinks, 0)), gone_end_(gone_begin_ + lengths.dropped) {}

  /// Number of remaining tokens in [begin, end).
  [[nodiscard]] std::int64_t tokens(std::int64_t begin, std::int64_t end) const {
    const std::int64_t gone = std::min(end, gone_end_) - std::max(begin, gone_begin_);
    return end - begin - std::max<std::int64_t>(gone, 0);
  }
  /// Number of groups with a remaining token; groups are `group` consecutive tokens of [begin, end), and `group`
  /// divides their number. A group is freed with its last token.
  [[nodiscard]] std::int64_t groups(std::int64_t begin, std::int64_t end, std::int64_t group) const {
    const std::int64_t first = (std::max(begin, gone_begin_) - begin + group - 1) / group;
    const std::int64_t last = (std::min(end, gone_end_) - begin) / group;
    return (end - begin) / group - std::max<std::int64_t>(last - first, 0);
  }

 private:
  std::int64_t gone_begin_;
  std::int64_t gone_end_;
};

/// Number of steps in which a format encodes, if it encodes its oldest exact tokens as soon as it has `trigger` of
/// them. That is all steps if the kept tokens after the sinks leave room for so many exact tokens. Otherwise, from the
/// first step that drops a token on, exact tokens are dropped before there are enough; that first step still encodes
/// before it drops. REQUIRES: as Left.
inline std::int64_t encoding_steps(const Lengths& lengths, std::int64_t trigger) {
  const std::int64_t newest = lengths.stored() - std::max<std::int64_t>(lengths.sinks, 0);
  if (lengths.dropped == 0 || trigger <= newest + 1) return lengths.generated;
  return std::min(lengths.generated, lengths.stored() + 1 - lengths.prompt);
}

/// Token counts of one head.
struct TokenSplit {
  std::int64_t coded{0};
  std::int64_t exact{0};
};
/// Codes of `bits` bits for each element, rounded up to bytes over all heads, and exact tokens of 2 bytes for each
/// element.
inline Regions split_bytes(const Shape& shape, Side side, const TokenSplit& tokens, std::int64_t bits) {
  const std::int64_t elements = std::int64_t{shape.kv_heads} * shape.size(side);
  Regions out;
  out.codes = (elements * tokens.coded * bits + 7) / 8;
  out.exact = elements * tokens.exact * 2;
  return out;
}

}  // namespace kvplan::formats
