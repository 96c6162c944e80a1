// A report as text for a terminal or a file.
#pragma once

#include <string>

#include "simulator/report/content.h"

namespace kvplan::report {

/// Lines of at most about `width` characters, if cells allow it; bars get the width that the table leaves, sentences
/// are wrapped. Ends in a newline.
std::string content_text(const Content& content, std::size_t width);

/// A list of sentences under a title, wrapped; empty without sentences.
std::string list_text(const std::string& title, const std::vector<std::string>& lines, std::size_t width);

/// One table, its title as the first line.
std::string table_text(const Table& table, std::size_t width);

/// `share` (0..1) of `width` characters as a bar of eighths.
std::string bar_text(double share, std::size_t width);

/// Lines of at most `width` characters, broken at spaces; the second and later ones begin with `indent`.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent);

}  // namespace kvplan::report
