// Reads the XML of reports strictly, so that a test fails on anything that a browser would have to guess.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan::report::testing {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< the element's own text, without its children's
  std::vector<Element> children;

  /// Elements with this attribute value, this element and those below it, in document order.
  [[nodiscard]] std::vector<const Element*> with(std::string_view attribute, std::string_view value) const;
  /// Elements of this name below this one.
  [[nodiscard]] std::vector<const Element*> named(std::string_view name) const;
  /// All text below this one.
  [[nodiscard]] std::string all_text() const;
};

/// The root element. Adds a failure and returns an empty element if the text is not well-formed.
Element parse_xml(std::string_view text);

/// The points of a path of M, L, H, V and Z commands, in order.
struct Point {
  double x, y;
};
std::vector<Point> path_points(const std::string& d);

}  // namespace kvplan::report::testing
