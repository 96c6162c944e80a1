#include "simulator/cli/format_input.h"

#include <utility>

#include "simulator/cli/command.h"
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

Result<formats::Evaluation> evaluate_format(const attention::Recording& recording,
                                            formats::EvaluationRequest request, const std::string& file) {
  request.stop_asked = interrupted;
  auto found = formats::evaluate(recording, request, []() -> Status {
    if (interrupted()) return interrupted_error();
    return Done{};
  });
  if (found.ok()) return found;
  Error error = std::move(found).error();
  if (error.file.empty() && error.kind == ErrorKind::kBadInput) error.file = file;
  return error;
}

}  // namespace kvplan::cli
