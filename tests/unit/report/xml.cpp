#include "tests/unit/report/xml.h"

#include <gtest/gtest.h>

#include <cctype>
#include <stdexcept>

namespace kvplan::report::testing {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Element document() {
    if (starts("<?xml")) at_ = find("?>") + 2;
    skip_space();
    if (starts("<!DOCTYPE html>")) at_ += 15;
    skip_space();
    Element root = element();
    skip_space();
    if (at_ != text_.size()) fail("text behind the root element");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at byte " + std::to_string(at_) + ": " +
                             std::string(text_.substr(at_, 40)));
  }
  [[nodiscard]] bool starts(std::string_view with) const { return text_.substr(at_, with.size()) == with; }
  [[nodiscard]] std::size_t find(std::string_view what) const {
    const std::size_t found = text_.find(what, at_);
    if (found == std::string_view::npos) fail("missing " + std::string(what));
    return found;
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  void want(std::string_view what) {
    if (!starts(what)) fail("expected " + std::string(what));
    at_ += what.size();
  }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '-' || text_[at_] == ':'))
      ++at_;
    if (at_ == begin) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  /// Text up to one of two characters, entities resolved.
  std::string text_until(char stop) {
    std::string out;
    while (at_ < text_.size() && text_[at_] != stop) {
      if (text_[at_] == '<') fail("a bare <");
      if (text_[at_] != '&') {
        out += text_[at_++];
        continue;
      }
      bool known = false;
      for (const auto& [entity, character] : {std::pair{"&amp;", '&'}, std::pair{"&lt;", '<'},
                                              std::pair{"&gt;", '>'}, std::pair{"&quot;", '"'}}) {
        if (!starts(entity)) continue;
        out += character;
        at_ += std::string_view(entity).size();
        known = true;
        break;
      }
      if (!known) fail("an unknown entity");
    }
    return out;
  }

  Element element() {
    want("<");
    Element out;
    out.name = name();
    while (true) {
      skip_space();
      if (starts("/>")) {
        at_ += 2;
        return out;
      }
      if (starts(">")) break;
      const std::string key = name();
      want("=\"");
      const bool first = out.attributes.emplace(key, text_until('"')).second;
      if (!first) fail("attribute " + key + " again");
      want("\"");
    }
    ++at_;
    while (true) {
      out.text += text_until('<');
      if (starts("</")) break;
      if (at_ >= text_.size()) fail("element " + out.name + " has no end");
      out.children.push_back(element());
    }
    want("</" + out.name + ">");
    return out;
  }

  std::string_view text_;
  std::size_t at_{0};
};

template <class Wanted>
void collect(const Element& element, const Wanted& wanted, std::vector<const Element*>& out) {
  if (wanted(element)) out.push_back(&element);
  for (const Element& child : element.children) collect(child, wanted, out);
}

}  // namespace

std::vector<const Element*> Element::with(std::string_view attribute, std::string_view value) const {
  std::vector<const Element*> out;
  collect(
      *this,
      [&](const Element& e) {
        const auto found = e.attributes.find(std::string(attribute));
        return found != e.attributes.end() && found->second == value;
      },
      out);
  return out;
}

std::vector<const Element*> Element::named(std::string_view wanted) const {
  std::vector<const Element*> out;
  collect(
      *this, [&](const Element& e) { return e.name == wanted; }, out);
  return out;
}

std::string Element::all_text() const {
  std::string out = text;
  for (const Element& child : children) out += " " + child.all_text();
  return out;
}

Element parse_xml(std::string_view text) {
  try {
    return Parser(text).document();
  } catch (const std::runtime_error& error) {
    ADD_FAILURE() << "not well-formed: " << error.what();
    return {};
  }
}

std::vector<Point> path_points(const std::string& d) {
  std::vector<Point> points;
  std::size_t at = 0;
  const auto number = [&] {
    std::size_t used = 0;
    const double value = std::stod(d.substr(at), &used);
    at += used;
    if (at < d.size() && d[at] == ',') ++at;
    return value;
  };
  while (at < d.size()) {
    const char command = d[at++];
    if (command == 'Z') continue;
    Point p = points.empty() ? Point{0, 0} : points.back();
    if (command != 'V') p.x = number();
    if (command != 'H') p.y = number();
    points.push_back(p);
  }
  return points;
}

}  // namespace kvplan::report::testing
