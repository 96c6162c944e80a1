#include "simulator/attention/score_expression.h"

#include <muParserBase.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "simulator/attention/kernels.h"
#include "simulator/base/number_input.h"

namespace kvplan::attention {
namespace {

double own_exp(double x) {
  if (x > 0) return 1.0 / fixed_exp(-x);
  return std::isnan(x) ? x : fixed_exp(x);
}
double own_log(double x) {
  return x < 0 || std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : std::isinf(x) ? x : fixed_log(x);
}
/// x^n for a whole n >= 0: squares and products from the lowest bit of n up, so that the bits are the same everywhere.
double whole_power(double x, double n) {
  double out = 1;
  for (; n > 0; x *= x) {
    const double half = std::floor(n / 2);
    if (half * 2 < n) out *= x;
    n = half;
  }
  return out;
}
/// A whole exponent works for any base; any other exponent of a negative base gives NaN.
double own_pow(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return y > 0 ? 0.0 : y == 0 ? 1.0 : std::numeric_limits<double>::infinity();
  if (std::isinf(y) || std::floor(y) != y) return own_exp(y * own_log(x));
  return y < 0 ? 1.0 / whole_power(x, -y) : whole_power(x, y);
}
double own_sqrt(double x) {
  return std::sqrt(x);  // IEEE defines its bits
}
double own_abs(double x) {
  return std::fabs(x);
}
double own_floor(double x) {
  return std::floor(x);
}
double own_min(const double* values, int count) {
  return *std::min_element(values, values + count);
}
double own_max(const double* values, int count) {
  return *std::max_element(values, values + count);
}

/// The library's parser without its own functions and constants.
class Grammar final : public mu::ParserBase {
 public:
  Grammar() {
    InitCharSets();
    InitFun();
    InitOprt();
    AddValIdent(read_number);
  }
  void InitCharSets() override {
    DefineNameChars("0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    DefineOprtChars("+-*/^?<>=#!$%&|~'_{}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    DefineInfixOprtChars("/+-*^?<>=#!$%&|~'_");
  }
  void InitFun() override {
    DefineFun("exp", own_exp);
    DefineFun("log", own_log);
    DefineFun("pow", own_pow);
    DefineFun("sqrt", own_sqrt);
    DefineFun("abs", own_abs);
    DefineFun("floor", own_floor);
    DefineFun("min", own_min);
    DefineFun("max", own_max);
  }
  void InitConst() override {}
  void InitOprt() override { DefineInfixOprt("-", negated); }

 private:
  static double negated(double x) { return -x; }
  /// If `rest` begins with a number: reads it, moves `place` past it and returns 1.
  static int read_number(const char* rest, int* place, double* value) {
    const std::string_view text(rest);
    if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return 0;
    const auto read = std::from_chars(text.begin(), text.end(), *value);
    if (read.ec != std::errc()) return 0;
    *place += static_cast<int>(read.ptr - text.begin());
    return 1;
  }
};

/// True: the text assigns to a variable, which muParser would do.
bool assigns(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    if (i + 1 < text.size() && text[i + 1] == '=') {
      ++i;
    } else if (i == 0 || (text[i - 1] != '<' && text[i - 1] != '>' && text[i - 1] != '!')) {
      return true;
    }
  }
  return false;
}

std::string variable_list() {
  std::string out;
  for (const std::string_view name : kScoreVariableNames) out.append(out.empty() ? "" : " ").append(name);
  return out;
}

}  // namespace

struct ScoreExpression::Parser {
  std::array<double, kScoreVariables> values{};
  std::array<bool, kScoreVariables> used{};
  Grammar grammar;
};

ScoreExpression::ScoreExpression(std::unique_ptr<Parser> parser) : parser_(std::move(parser)) {}
ScoreExpression::ScoreExpression(ScoreExpression&&) noexcept = default;
ScoreExpression::~ScoreExpression() = default;

Result<ScoreExpression> ScoreExpression::make(const std::string& text) {
  if (text.find('\0') != std::string::npos)
    return not_expected("an expression without the character NUL", text);
  if (text.find('^') != std::string::npos) return bad_input("expected pow(x, y) for powers, found ^");
  if (assigns(text)) return bad_input("expected == for a comparison, found =");
  auto parser = std::make_unique<Parser>();
  try {
    for (std::size_t v = 0; v < kScoreVariables; ++v)
      parser->grammar.DefineVar(std::string(kScoreVariableNames[v]), &parser->values[v]);
    parser->grammar.SetExpr(text);
    for (const auto& [name, at] : parser->grammar.GetUsedVar())
      for (std::size_t v = 0; v < kScoreVariables; ++v)
        if (name == kScoreVariableNames[v]) parser->used[v] = true;
    static_cast<void>(parser->grammar.Eval());
    if (parser->grammar.GetNumResults() != 1)
      return bad_input("expected one expression, found " + std::to_string(parser->grammar.GetNumResults()));
  } catch (const mu::ParserError& error) {
    return bad_input("expected an expression of " + variable_list() +
                     " with exp log pow sqrt abs floor min max: " + error.GetMsg());
  }
  return ScoreExpression(std::move(parser));
}

bool ScoreExpression::uses(ScoreVariable variable) const {
  return parser_->used[static_cast<std::size_t>(variable)];
}

void ScoreExpression::set(ScoreVariable variable, double value) {
  parser_->values[static_cast<std::size_t>(variable)] = value;
}

double ScoreExpression::score() const {
  const double value = parser_->grammar.Eval();
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

}  // namespace kvplan::attention
