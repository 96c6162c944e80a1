// Markdown pages made by the program: escaped text in lines of bounded length.
#pragma once

#include <string>
#include <string_view>

namespace kvplan::cli {

/// Text with Markdown's special characters escaped.
std::string markdown_escaped(std::string_view text);

/// A paragraph in lines of at most 118 characters, followed by a blank line. `markdown` is not escaped.
std::string markdown_paragraph(const std::string& markdown);
/// A list item, "- ...", in such lines, without a blank line.
std::string markdown_item(const std::string& markdown);

}  // namespace kvplan::cli
