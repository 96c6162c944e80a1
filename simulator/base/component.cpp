#include "simulator/base/component.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/base/units.h"

namespace kvplan {

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "";
    case Unit::kTokens:
      return "tokens";
    case Unit::kBlocks:
      return "blocks";
    case Unit::kBytes:
      return "bytes";
    case Unit::kNs:
      return "ns";
    case Unit::kSeconds:
      return "s";
    case Unit::kRatio:
      return "ratio";
    case Unit::kRequests:
      return "requests";
    case Unit::kFlopsPerSecond:
      return "FLOP/s";
    case Unit::kBytesPerSecond:
      return "bytes/s";
  }
  return "";
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> decimal_times_power_of_two(std::string_view text, int shift) {
  if (!parse_decimal(text)) return std::nullopt;
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  // The digits, and the power of ten by which they are scaled.
  std::string digits;
  std::int64_t exponent = 0;
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view tail = text.substr(e + 1);
    if (!tail.empty() && tail.front() == '+') tail.remove_prefix(1);
    const auto parsed = parse_integer(tail);
    if (!parsed || std::abs(*parsed) > 1000) return std::nullopt;
    exponent = *parsed;
    text = text.substr(0, e);
  }
  bool after_point = false;
  for (const char c : text) {
    if (c == '.') {
      after_point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    if (after_point) --exponent;
    if (digits.empty() && c == '0') continue;
    digits += c;
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (digits.empty()) return 0;
  if (static_cast<std::int64_t>(digits.size()) + exponent > 19) return std::nullopt;  // >= 10^19 > 2^63
  // Schoolbook arithmetic on decimal digits: shift by doubling (or halving with one more digit), then round.
  std::vector<int> whole;
  std::vector<int> fraction;
  const std::int64_t point = static_cast<std::int64_t>(digits.size()) + exponent;
  if (point < -400) return 0;
  for (std::int64_t i = 0; i < point; ++i)
    whole.push_back(i < static_cast<std::int64_t>(digits.size()) ? digits[static_cast<std::size_t>(i)] - '0'
                                                                 : 0);
  for (std::int64_t i = point; i < static_cast<std::int64_t>(digits.size()); ++i)
    fraction.push_back(i < 0 ? 0 : digits[static_cast<std::size_t>(i)] - '0');
  if (whole.empty()) whole.push_back(0);
  for (int s = 0; s < shift; ++s) {
    int carry = 0;
    for (auto* part : {&fraction, &whole}) {
      for (auto digit = part->rbegin(); digit != part->rend(); ++digit) {
        const int doubled = *digit * 2 + carry;
        *digit = doubled % 10;
        carry = doubled / 10;
      }
    }
    if (carry > 0) whole.insert(whole.begin(), carry);
    if (whole.size() > 40) return std::nullopt;
  }
  KVPLAN_CHECK(shift >= 0, shift);
  const bool half_or_more = !fraction.empty() && fraction.front() >= 5;
  const bool exactly_half = half_or_more && fraction.front() == 5 &&
                            std::all_of(fraction.begin() + 1, fraction.end(), [](int d) { return d == 0; });
  Wide value = 0;
  for (const int digit : whole) {
    value = value * 10 + digit;
    if (value > INT64_MAX) return std::nullopt;
  }
  if (negative) {  // halves up: towards plus infinity
    if (half_or_more && !exactly_half) ++value;
    return static_cast<std::int64_t>(-value);
  }
  if (half_or_more) ++value;
  if (value > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

Choice::Choice(const Descriptor* descriptor, std::vector<Value> values)
    : descriptor_(descriptor), values_(std::move(values)) {
  for (const Value& value : values_)
    numbers_.push_back({parse_integer(value.text), parse_decimal(value.text)});
}

std::size_t Choice::place(std::string_view param) const {
  for (std::size_t i = 0; i < descriptor_->params.size(); ++i)
    if (descriptor_->params[i].name == param) return i;
  check_failed("this component has the parameter", __FILE__, __LINE__);
}

std::int64_t Choice::integer(std::string_view param) const {
  return numbers_[place(param)].integer.value();
}
double Choice::decimal(std::string_view param) const {
  return numbers_[place(param)].decimal.value();
}
const std::string& Choice::text(std::string_view param) const {
  return at(param).text;
}
bool Choice::flag(std::string_view param) const {
  return at(param).text == "true";
}
bool Choice::given(std::string_view param) const {
  return at(param).given;
}

std::vector<std::string> Choice::files() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Param& param = descriptor_->params[i];
    const std::string& text = values_[i].text;
    if (param.names_file && text != param.fallback && !text.starts_with('[')) out.push_back(text);
  }
  return out;
}

bool Choice::says(std::string_view param) const {
  const auto& params = descriptor_->params;
  const auto of = std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.name == param; });
  KVPLAN_CHECK(of != params.end());
  return !of->default_unsaid || at(param).text != of->fallback;
}

std::string Choice::to_string() const {
  std::string out(descriptor_->name);
  char separator = ':';
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Param& param = descriptor_->params[i];
    const std::string& text = values_[i].text;
    if (!says(param.name)) continue;
    out += std::exchange(separator, ',');
    out.append(param.name).append("=");
    text.find(',') == std::string::npos ? out.append(text) : out.append("\"").append(text).append("\"");
  }
  return out;
}

namespace {

/// Empty if `text` is a legal value of `param`, else the expected values.
std::string expectation(const Param& param, std::string_view text) {
  const auto range = [&] {
    return " from " + shortest(param.low) + " to " + shortest(param.high) +
           (unit_name(param.unit).empty() ? "" : " (" + std::string(unit_name(param.unit)) + ")");
  };
  switch (param.kind) {
    case ParamKind::kInteger: {
      const auto value = parse_integer(text);
      // As doubles, neighbours beyond 2^53 would be equal. All limits are whole numbers that fit.
      if (!value || *value < static_cast<std::int64_t>(param.low) ||
          *value > static_cast<std::int64_t>(param.high))
        return "a whole number" + range();
      return {};
    }
    case ParamKind::kDecimal: {
      const auto value = parse_decimal(text);
      if (!value || *value < param.low || *value > param.high) return "a number" + range();
      return {};
    }
    case ParamKind::kFlag:
      if (text != "true" && text != "false") return "true or false";
      return {};
    case ParamKind::kText: {
      if (text.find('\0') != std::string_view::npos) return "a text without the character NUL";
      if (param.choices.empty()) return text.empty() ? "a text" : "";
      for (const auto choice : param.choices)
        if (choice == text) return {};
      std::string out = "one of";
      for (const auto choice : param.choices) out.append(" ").append(choice);
      return out;
    }
  }
  return {};
}

}  // namespace

Result<Choice> make_choice(std::string_view name, std::span<const std::pair<std::string, std::string>> params,
                           std::string_view family, Catalogue catalogue) {
  std::vector<std::string_view> names;
  const Descriptor* found = nullptr;
  for (const Descriptor* descriptor : catalogue) {
    names.push_back(descriptor->name);
    if (descriptor->name == name) found = descriptor;
  }
  if (found == nullptr) return bad_input(unknown_name(family, name, names)).at_field(name);

  std::vector<Choice::Value> values;
  for (const Param& param : found->params) values.push_back({std::string(param.fallback), false});
  for (const auto& [key, text] : params) {
    std::vector<std::string_view> known;
    std::size_t index = found->params.size();
    for (std::size_t i = 0; i < found->params.size(); ++i) {
      known.push_back(found->params[i].name);
      if (found->params[i].name == key) index = i;
    }
    const std::string field = std::string(name) + ":" + key;
    if (index == found->params.size() && known.empty())
      return bad_input("expected no parameter: " + std::string(name) + " has none, found " + found_text(key))
          .at_field(name);
    if (index == found->params.size()) return bad_input(unknown_name("parameter", key, known)).at_field(name);
    if (values[index].given) return bad_input("given twice").at_field(field);
    const std::string expected = expectation(found->params[index], text);
    if (!expected.empty()) return not_expected(expected, text).at_field(field);
    values[index] = {text, true};
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].text.empty() && !values[i].given)
      return bad_input("parameter must be given: " + std::string(found->params[i].help))
          .at_field(std::string(name) + ":" + std::string(found->params[i].name));
  }
  return Choice(found, std::move(values));
}

namespace {

bool in_quotes(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"';
}
std::string_view unquoted(std::string_view text) {
  return in_quotes(text) ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::size_t end_of_pair(std::string_view pairs) {
  int open = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const char c = pairs[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') ++open;
    if (c == ')' || c == ']' || c == '}') --open;
    if (c == ',' && open <= 0) return i;
  }
  return quoted || open > 0 ? pairs.find(',') : std::string_view::npos;
}

Result<Choice> parse_component(std::string_view text, std::string_view family, Catalogue catalogue) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::vector<std::pair<std::string, std::string>> params;
  if (colon != std::string_view::npos) {
    std::string_view rest = text.substr(colon + 1);
    while (true) {
      const std::size_t comma = end_of_pair(rest);
      const std::string_view item = rest.substr(0, comma);
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos || equals == 0)
        return not_expected("key=value", item).at_field(name);
      params.emplace_back(std::string(item.substr(0, equals)),
                          std::string(unquoted(item.substr(equals + 1))));
      if (comma == std::string_view::npos) break;
      rest = rest.substr(comma + 1);
    }
  }
  return make_choice(name, params, family, catalogue);
}

}  // namespace kvplan
