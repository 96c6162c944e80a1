// A score that a user writes as an expression, with muParser. Only what IEEE arithmetic fixes is offered, so that the
// same expression gives the same bits everywhere: + - * / comparisons && || ?: and the functions below, whose
// exponential and logarithm are our own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::attention {

/// What an expression knows of a token that it scores.
enum class ScoreVariable : std::uint8_t {
  kAccumulated,  ///< weights that it received while it was resident, summed
  kLast,         ///< its weight in the newest row
  kWindowed,     ///< the sum over the latest rows
  kAge,          ///< tokens that came after it
  kPosition,     ///< its own, from 0
  kTokens,       ///< seen so far
  kPrompt,       ///< tokens of the prompt
  kLayer,        ///< that is decided
  kHead,         ///< KV head, or 0 where the layer has one set
  kKeyNorm,      ///< length of its key; where the layer has one set, the mean over its KV heads
  kValueNorm,    ///< the same of its value
};
inline constexpr std::size_t kScoreVariables = 11;
/// As written in expressions, in the order of ScoreVariable.
inline constexpr std::array<std::string_view, kScoreVariables> kScoreVariableNames{
    "accumulated", "last",  "windowed", "age",      "position",  "tokens",
    "prompt",      "layer", "head",     "key_norm", "value_norm"};

class ScoreExpression {
 public:
  /// Errors: what cannot be read as an expression, unknown names, `^` (write pow).
  static Result<ScoreExpression> make(const std::string& text);
  ScoreExpression(ScoreExpression&&) noexcept;
  ~ScoreExpression();

  [[nodiscard]] bool uses(ScoreVariable variable) const;
  /// For the next calls of `score`.
  void set(ScoreVariable variable, double value);
  /// What is not a number counts as lowest.
  [[nodiscard]] double score() const;

 private:
  struct Parser;
  explicit ScoreExpression(std::unique_ptr<Parser> parser);
  std::unique_ptr<Parser> parser_;
};

}  // namespace kvplan::attention
