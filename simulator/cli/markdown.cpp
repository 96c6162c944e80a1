#include "simulator/cli/markdown.h"

#include "simulator/report/text.h"

namespace kvplan::cli {
namespace {

constexpr std::size_t kWidth = 118;

}  // namespace

std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\*<`").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_paragraph(const std::string& markdown) {
  return report::wrapped(markdown, kWidth, "") + "\n\n";
}

std::string markdown_item(const std::string& markdown) {
  return report::wrapped("- " + markdown, kWidth, "  ") + "\n";
}

}  // namespace kvplan::cli
