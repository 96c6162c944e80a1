// Reads values of nested JSON, for importers of formats that are not tables: each kind has its check and error text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/import/fields.h"
#include "traces/import/json_cursor.h"

namespace kvplan::traces {

/// A problem and its field; the importer adds the position.
struct JsonProblem {
  std::string field;
  std::string message;
};

/// These functions read the next value of `json`. null means "not stated" and leaves `value` unchanged. They return
/// false if the value is of another kind (then `problem` is set), or if the text is not JSON (then `json.failed()`).
bool read_count(JsonCursor& json, std::string_view field, std::int32_t& value, JsonProblem& problem);
/// A decimal number in `unit`, which is not kIso.
bool read_time(JsonCursor& json, std::string_view field, TimeUnit unit, std::int64_t& value_ns,
               JsonProblem& problem);
/// A string. If it has escapes, its plain text is stored in `store`, to which the view then points.
bool read_text(JsonCursor& json, std::string_view field, std::string_view& value, std::string& store,
               JsonProblem& problem);

/// Reads the object that comes next: calls `read(key)` for each key, before its value. null counts as an empty object.
/// Returns false also if `read` does.
template <class Read>
bool read_object(JsonCursor& json, std::string_view field, JsonProblem& problem, Read&& read);

/// Array of whole numbers from 0 to 2^64 - 1; calls `take(id)` for each. `stated` is false for null.
template <class Take>
bool read_ids(JsonCursor& json, std::string_view field, bool& stated, JsonProblem& problem, Take&& take);

/// Stores a problem and returns false.
bool note_problem(JsonProblem& problem, std::string_view field, std::string message);
/// For text that stops being one JSON object: the problem of a cursor that failed in it.
bool note_no_json(JsonProblem& problem, std::string_view text, std::size_t where);

/// For read_ids: why the value at `before` is not an array of ids, if `json` stopped inside it.
bool note_no_ids(JsonCursor& json, JsonCursor before, std::string_view field, bool& stated,
                 JsonProblem& problem);

template <class Take>
bool read_ids(JsonCursor& json, std::string_view field, bool& stated, JsonProblem& problem, Take&& take) {
  const JsonCursor before = json;
  stated = true;
  return json.integers(take) || note_no_ids(json, before, field, stated, problem);
}

template <class Read>
bool read_object(JsonCursor& json, std::string_view field, JsonProblem& problem, Read&& read) {
  const char kind = json.kind();
  if (kind == 'l') return json.skip_value();
  if (kind != 'o') return note_problem(problem, field, "expected an object");
  if (!json.enter_object()) return false;
  std::string_view key;
  bool first = true;
  while (json.next_key(key, first))
    if (!read(key)) return false;
  return !json.failed();
}

}  // namespace kvplan::traces
