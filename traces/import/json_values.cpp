#include "traces/import/json_values.h"

#include <algorithm>
#include <optional>

namespace kvplan::traces {
namespace {

constexpr std::string_view kNull = "null";

bool expected(JsonProblem& problem, std::string_view field, const std::string& what, std::string_view found) {
  return note_problem(problem, field, "expected " + what + ", found " + shown(found));
}

}  // namespace

bool note_problem(JsonProblem& problem, std::string_view field, std::string message) {
  problem.field = field;
  problem.message = std::move(message);
  return false;
}

bool note_no_json(JsonProblem& problem, std::string_view text, std::size_t where) {
  const std::size_t at = std::min(where, text.size());
  return note_problem(problem, "",
                      "expected one JSON object, found something else at byte " + std::to_string(where) +
                          " of it: " + shown(text.substr(at)));
}

bool read_count(JsonCursor& json, std::string_view field, std::int32_t& value, JsonProblem& problem) {
  std::string_view text;
  if (!json.value(text)) return false;
  if (text == kNull) return true;
  const std::optional<std::int32_t> count = parse_count(text);
  if (!count) return expected(problem, field, "a whole number from 0 to 2147483647", text);
  value = *count;
  return true;
}

bool read_time(JsonCursor& json, std::string_view field, TimeUnit unit, std::int64_t& value_ns,
               JsonProblem& problem) {
  std::string_view text;
  if (!json.value(text)) return false;
  if (text == kNull) return true;
  const std::optional<std::int64_t> time = parse_time_number(text, unit);
  if (!time)
    return expected(problem, field,
                    "a time of at least 0 in " + std::string(time_unit_name(unit)) + " within 292 years",
                    text);
  value_ns = *time;
  return true;
}

bool read_text(JsonCursor& json, std::string_view field, std::string_view& value, std::string& store,
               JsonProblem& problem) {
  if (json.kind() != 's') {
    std::string_view text;
    if (!json.value(text)) return false;
    return text == kNull || expected(problem, field, "a text", text);
  }
  bool escaped = false;
  if (!json.string(value, escaped)) return false;
  if (!escaped) return true;
  if (!unescape(value, store)) return expected(problem, field, "a string with JSON escapes", value);
  value = store;
  return true;
}

bool note_no_ids(JsonCursor& json, JsonCursor before, std::string_view field, bool& stated,
                 JsonProblem& problem) {
  json = before;
  std::string_view text;
  if (!json.value(text)) return false;
  stated = text != kNull;
  return !stated || note_problem(problem, field, "expected an array of whole numbers from 0 to 2^64 - 1");
}

}  // namespace kvplan::traces
