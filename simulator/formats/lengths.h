// What lengths alone say of a format's bytes: how many tokens a layer was given and how many it stores, never their
// numbers. Each member has a rule beside its codec; that both agree, in every region, is tested over random layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/formats/codec.h"

namespace kvplan::formats {

/// Tokens of one layer, alike in all of its heads.
struct Lengths {
  std::int64_t prompt{1};     ///< appended first, in one call: those that a token policy kept; >= 1
  std::int64_t generated{0};  ///< appended since, one in each step
  std::int64_t dropped{0};    ///< of both, what a token policy or a window took away after steps
  /// Which these were, where positions decide: the first `sinks` tokens always stay, and of the others the oldest goes
  /// after each step that leaves too many. So the prompt has at most `stored()` tokens as soon as any went. -1: nobody
  /// knows which.
  std::int64_t sinks{-1};

  [[nodiscard]] std::int64_t appended() const { return prompt + generated; }
  [[nodiscard]] std::int64_t stored() const { return appended() - dropped; }
};

/// What pages of a cache hold, of the paging classes in which policies and formats are told apart (PG1 to PG4 are of
/// tokens that go: attention/policy.h and courses/course.h have those).
enum class Paging : std::uint8_t {
  /// PG0: a token is stored for good as it is appended and takes the same bytes whatever else is there, so that pages
  /// hold so many tokens as of any other width.
  kTokens,
  /// PG5: bytes depend on what else is stored and change with age, so that pages have a geometry of their own, and what
  /// is not encoded yet lies in pages apart (courses/encoded_course.h).
  kOwn,
};

struct LengthRule {
  /// Bytes of a side, all KV heads, after the prompt's end and the last step: the codec's `regions` then. Null of a
  /// short name. REQUIRES: `check` of the format found nothing, numbers do not decide (`undecided`); nothing was
  /// dropped, or `by_count`, or `by_position` and positions decided which.
  Regions (*regions)(const Choice&, const Shape&, const Lengths&, Side) = nullptr;
  /// Where numbers decide with some parameters (`undecided`): what they decide, as the beginning of a sentence.
  std::string_view numbers_decide{};
  /// What `regions` take for granted of numbers, where others would take other bytes: a sentence. Empty: nothing.
  std::string_view assumes{};
  /// Newest tokens of the stored ones that the format itself keeps. Null: all.
  std::int64_t (*keeps)(const Choice&) = nullptr;
  /// True where every token takes the same bytes, whichever they are, so that any may have gone. Null: nowhere.
  bool (*by_count)(const Choice&) = nullptr;
  /// True where it matters which tokens went, and lengths say it if positions decide (Lengths::sinks). Null: nowhere.
  bool (*by_position)(const Choice&, std::int64_t sinks) = nullptr;
  /// True where heads share a part of what is stored of tokens that came together, which goes with the last of these:
  /// `by_count` is then of heads that drop the same tokens. Other heads may still have begun with others.
  bool heads_share{false};
  /// What pages hold with these parameters. Null: always Paging::kOwn.
  Paging (*paging)(const Choice&) = nullptr;
  /// True where with these parameters numbers decide. Null: nowhere.
  bool (*undecided)(const Choice&) = nullptr;
};

// What members share.

/// `by_count`, `by_position` and `paging` of a format of which that is so with all parameters.
inline bool always_by_count(const Choice& /*choice*/) {
  return true;
}
inline bool always_by_position(const Choice& /*choice*/, std::int64_t /*sinks*/) {
  return true;
}
inline Paging always_in_tokens(const Choice& /*choice*/) {
  return Paging::kTokens;
}

/// Which tokens of a head are left, by the order in which they were appended; all of them if none went.
/// REQUIRES: none went, or positions decide.
class Left {
 public:
  explicit Left(const Lengths& lengths)
      : gone_begin_(std::max<std::int64_t>(lengths.sinks, 0)), gone_end_(gone_begin_ + lengths.dropped) {}

  /// Of tokens [begin, end).
  [[nodiscard]] std::int64_t tokens(std::int64_t begin, std::int64_t end) const {
    const std::int64_t gone = std::min(end, gone_end_) - std::max(begin, gone_begin_);
    return end - begin - std::max<std::int64_t>(gone, 0);
  }
  /// Of tokens [begin, end) in groups of so many, a divisor of their number: those that have any token left. A group
  /// goes with its last one.
  [[nodiscard]] std::int64_t groups(std::int64_t begin, std::int64_t end, std::int64_t group) const {
    const std::int64_t first = (std::max(begin, gone_begin_) - begin + group - 1) / group;
    const std::int64_t last = (std::min(end, gone_end_) - begin) / group;
    return (end - begin) / group - std::max<std::int64_t>(last - first, 0);
  }

 private:
  std::int64_t gone_begin_;
  std::int64_t gone_end_;
};

/// Steps that can encode something of a format that encodes its oldest exact tokens as soon as it has `trigger` of
/// them: all, as long as what comes after the sinks and stays lets so many wait. Else the exact tokens go before they
/// are enough, from the first step on that drops any; it still encodes before it drops.
/// REQUIRES: as Left.
inline std::int64_t encoding_steps(const Lengths& lengths, std::int64_t trigger) {
  const std::int64_t newest = lengths.stored() - std::max<std::int64_t>(lengths.sinks, 0);
  if (lengths.dropped == 0 || trigger <= newest + 1) return lengths.generated;
  return std::min(lengths.generated, lengths.stored() + 1 - lengths.prompt);
}

/// Of one head.
struct TokenSplit {
  std::int64_t coded{0};
  std::int64_t exact{0};
};
/// Codes of so many bits an element, whole bytes over all heads, and exact tokens of 2 bytes an element.
inline Regions split_bytes(const Shape& shape, Side side, const TokenSplit& tokens, std::int64_t bits) {
  const std::int64_t elements = std::int64_t{shape.kv_heads} * shape.size(side);
  Regions out;
  out.codes = (elements * tokens.coded * bits + 7) / 8;
  out.exact = elements * tokens.exact * 2;
  return out;
}

}  // namespace kvplan::formats
