// Writes JSON as readers expect it: keys in the order in which they are given, plain numbers (64-bit integers in
// full, doubles in the shortest form that reads back the same), null for a missing value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

/// Builds one JSON document in a string. Nesting is checked; a value without its key stops the program.
class JsonWriter {
 public:
  /// `indent`: spaces per level; 0 puts everything on one line.
  explicit JsonWriter(int indent = 2) : indent_(indent) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  /// NaN and infinities, which JSON does not have, become null.
  JsonWriter& value(double number);
  /// Writes a decimal number with its original digits, so that a reader can round it once. REQUIRES: parse_decimal
  /// accepts it (component.h). Forms that JSON does not accept, such as .5, get their zeros.
  JsonWriter& digits(std::string_view text);
  JsonWriter& null();
  template <class T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }
  template <class T>
  JsonWriter& member(std::string_view name, const T& v) {
    key(name);
    return value(v);
  }

  /// Returns the document with a final newline. REQUIRES: all objects and arrays are closed.
  [[nodiscard]] std::string take();

 private:
  void before_value();
  void newline();
  struct Level {
    bool object;
    bool empty;
  };
  std::string out_;
  std::vector<Level> levels_;
  int indent_;
  bool key_pending_{false};
};

/// The shortest decimal text that reads back as the same double.
std::string shortest(double number);

}  // namespace kvplan
