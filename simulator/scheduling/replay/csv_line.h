// Lines of the tables that replays write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvplan::replays {

/// Appends fields, separated by commas. `end_line` ends a line.
class CsvLine {
 public:
  explicit CsvLine(std::string& out) : out_(out) {}

  CsvLine& add(std::int64_t number) { return add(std::string_view(std::to_string(number))); }
  CsvLine& add(std::string_view text) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += text;
    return *this;
  }
  /// Appends numbers one after the other.
  template <class... Number>
  CsvLine& add_all(Number... numbers) {
    (add(static_cast<std::int64_t>(numbers)), ...);
    return *this;
  }
  /// A step that was never reached (negative) is an empty field.
  CsvLine& add_step(std::int64_t step) { return step >= 0 ? add(step) : add(std::string_view()); }
  void end_line() { out_ += '\n'; }

 private:
  std::string& out_;
  bool first_{true};
};

}  // namespace kvplan::replays
