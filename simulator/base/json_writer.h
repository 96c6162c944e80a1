// Writes JSON as people expect it: keys in the order they are given, numbers as plain numbers (64-bit
// integers in full, doubles in the shortest form that reads back the same), null for what has no value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

/// Builds one JSON document in a string. Nesting is checked; a value where a key is due stops the program.
class JsonWriter {
 public:
  /// `indent` spaces a level; 0 puts everything on one line.
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
  /// NaN and infinities, which JSON cannot say, become null.
  JsonWriter& value(double number);
  /// A decimal number with the digits that it was given with, so that whoever reads it may round it once.
  /// REQUIRES: parse_decimal takes it (component.h). What JSON does not take, such as .5, gets its zeros.
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

  /// The document with a final newline. REQUIRES: everything that was begun has ended.
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
