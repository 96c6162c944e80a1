// Markdown pages made by the program: escaped text in lines of bounded length.
#pragma once

#include <string>
#include <string_view>

namespace kvplan::cli {

/// Text with the characters escaped that Markdown would take for its own.
std::string markdown_escaped(std::string_view text);

/// Lines of at most 118 characters, a blank line behind them. `markdown` is written as it is.
std::string markdown_paragraph(const std::string& markdown);
/// "- ..." in such lines, nothing behind them.
std::string markdown_item(const std::string& markdown);

}  // namespace kvplan::cli
