#include "simulator/base/number_input.h"

#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"

namespace kvplan {

std::string found_text(std::string_view text) {
  constexpr std::size_t kShown = 40;
  if (text.size() <= kShown) return "\"" + std::string(text) + "\"";
  std::size_t cut = kShown;
  // Do not cut in the middle of a UTF-8 character.
  while (cut > kShown - 4 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return "\"" + std::string(text.substr(0, cut)) + "...\" (" + std::to_string(text.size()) + " bytes)";
}

Error not_expected(std::string_view what, std::string_view text) {
  std::string message("expected ");
  message.append(what).append(", found ").append(text.empty() ? "nothing" : found_text(text));
  return bad_input(std::move(message));
}

std::string expected_text(WholeRange range) {
  return "a whole number from " + std::to_string(range.low) + " to " + std::to_string(range.high);
}

Result<std::int64_t> read_whole_number(std::string_view text, WholeRange range) {
  const auto value = parse_integer(text);
  if (!value || *value < range.low || *value > range.high) return not_expected(expected_text(range), text);
  return *value;
}

std::string expected_text(NumberRange range) {
  return "a number from " + shortest(range.low) + " to " + shortest(range.high);
}

Result<double> read_number(std::string_view text, NumberRange range) {
  const auto value = parse_decimal(text);
  if (!value || *value < range.low || *value > range.high) return not_expected(expected_text(range), text);
  return *value;
}

}  // namespace kvplan
