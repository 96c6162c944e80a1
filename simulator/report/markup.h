// Writes XML-shaped text: SVG, and HTML in XML syntax. Every element must be closed and text is escaped, so a
// document is well-formed whatever names it contains.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan::report {

class Markup {
 public:
  struct Attribute {
    std::string_view name;
    std::string value;
  };
  using Attributes = std::initializer_list<Attribute>;

  Markup& begin(std::string_view element, Attributes attributes = {});
  Markup& end();
  /// An element without content: `<element .../>`.
  Markup& empty(std::string_view element, Attributes attributes = {});
  Markup& text(std::string_view text);
  /// `<element ...>text</element>`.
  Markup& leaf(std::string_view element, std::string_view content, Attributes attributes = {});
  /// Adds finished markup of another writer, or a fixed part.
  Markup& raw(std::string_view markup);
  Markup& line_break();

  /// REQUIRES: every element is closed.
  [[nodiscard]] std::string take();

 private:
  void open(std::string_view element, Attributes attributes);
  std::string out_;
  std::vector<std::string> open_;
};

/// `&`, `<`, `>` and quotes as entities; control characters and bytes that are not UTF-8 as U+FFFD.
std::string escaped(std::string_view text);

/// A coordinate: two decimals at most, no trailing zeros.
std::string coordinate(double value);

}  // namespace kvplan::report
