#include "simulator/cli/format_input.h"

#include <utility>

#include "simulator/io/side_file.h"

namespace kvplan::cli {

Result<formats::FormatChoice> read_format_input(const std::string& text) {
  auto format = formats::parse_format(text);
  if (!format.ok()) return bad_input(format.error().to_string()).at_field("--format");
  formats::FormatChoice out = std::move(format).value();
  const Status read = io::read_side_file(out);
  if (!read.ok()) return bad_input(read.error().to_string()).at_field("--format");
  return out;
}

}  // namespace kvplan::cli
