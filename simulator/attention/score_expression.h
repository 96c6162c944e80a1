// A score that a user writes as an expression, parsed by muParser. It offers only operations that IEEE arithmetic
// determines, so the same expression gives the same bits everywhere: + - * / comparisons && || ?: and the functions
// below, with our own exponential and logarithm.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::attention {

/// The variables of a token that is scored.
enum class ScoreVariable : std::uint8_t {
  kAccumulated,  ///< sum of the weights that it received while it was resident
  kLast,         ///< its weight in the newest row
  kWindowed,     ///< the sum over the latest rows
  kAge,          ///< number of tokens that came after it
  kPosition,     ///< position of the token, from 0
  kTokens,       ///< number of tokens seen until now
  kPrompt,       ///< tokens of the prompt
  kLayer,        ///< the layer that is decided
  kHead,         ///< KV head, or 0 if the layer has one set
  kKeyNorm,      ///< norm of its key; if the layer has one set, the mean over its KV heads
  kValueNorm,    ///< norm of its value, likewise
};
inline constexpr std::size_t kScoreVariables = 11;
/// Names in expressions, in the order of ScoreVariable.
inline constexpr std::array<std::string_view, kScoreVariables> kScoreVariableNames{
    "accumulated", "last",  "windowed", "age",      "position",  "tokens",
    "prompt",      "layer", "head",     "key_norm", "value_norm"};

class ScoreExpression {
 public:
  /// Errors: text that is not an expression, unknown names, `^` (write pow).
  static Result<ScoreExpression> make(const std::string& text);
  ScoreExpression(ScoreExpression&&) noexcept;
  ~ScoreExpression();

  [[nodiscard]] bool uses(ScoreVariable variable) const;
  /// Sets a variable for the next calls of `score`.
  void set(ScoreVariable variable, double value);
  /// The score; NaN counts as lowest.
  [[nodiscard]] double score() const;

 private:
  struct Parser;
  explicit ScoreExpression(std::unique_ptr<Parser> parser);
  std::unique_ptr<Parser> parser_;
};

}  // namespace kvplan::attention
