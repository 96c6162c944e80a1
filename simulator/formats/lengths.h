// What lengths alone say of a format's bytes: how many tokens a layer was given and how many it stores, never their
// numbers. Each member has a rule beside its codec; that both agree, in every region, is tested over random layers.
#pragma once

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

  [[nodiscard]] std::int64_t appended() const { return prompt + generated; }
  [[nodiscard]] std::int64_t stored() const { return appended() - dropped; }
};

struct LengthRule {
  /// Bytes of a side, all KV heads, after the prompt's end and the last step: the codec's `regions` then. Null of a
  /// short name. REQUIRES: `check` of the format found nothing, numbers do not decide (`undecided`); nothing was
  /// dropped, or `by_count`.
  Regions (*regions)(const Choice&, const Shape&, const Lengths&, Side) = nullptr;
  /// Where numbers decide with some parameters (`undecided`): what they decide, as the beginning of a sentence.
  std::string_view numbers_decide{};
  /// What `regions` take for granted of numbers, where others would take other bytes: a sentence. Empty: nothing.
  std::string_view assumes{};
  /// Newest tokens of the stored ones that the format itself keeps. Null: all.
  std::int64_t (*keeps)(const Choice&) = nullptr;
  /// True where every token takes the same bytes, whichever they are, so that any may have gone. Null: nowhere.
  bool (*by_count)(const Choice&) = nullptr;
  /// True where heads share a part of what is stored of tokens that came together, which goes with the last of these:
  /// `by_count` is then of heads that drop the same tokens. Other heads may still have begun with others.
  bool heads_share{false};
  /// True where a token is stored for good as it is appended and takes the same bytes whatever else is there, so that
  /// blocks hold so many tokens as of any other width. Null: nowhere.
  bool (*at_once)(const Choice&) = nullptr;
  /// True where with these parameters numbers decide. Null: nowhere.
  bool (*undecided)(const Choice&) = nullptr;
};

// What members share.

/// `by_count`, and `at_once`, of a format of which that is so with all parameters.
inline bool always_by_count(const Choice& /*choice*/) {
  return true;
}
inline bool always_at_once(const Choice& /*choice*/) {
  return true;
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
