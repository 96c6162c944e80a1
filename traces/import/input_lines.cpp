#include "traces/import/input_lines.h"

namespace kvplan::traces {

std::string file_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

Result<bool> InputLines::next(std::string_view& line) {
  for (;;) {
    if (input_->next_line(line)) {
      if (!line.empty()) return true;
      continue;
    }
    if (input_->failed()) return input_->error();
    if (next_file_ == rest_.size()) return false;
    KVPLAN_TRY(input_, Input::open(rest_[next_file_++], on_read_));
  }
}

Error InputLines::error_here(std::string message, std::string_view field) const {
  return bad_input(std::move(message)).at_file(input_->path()).at_line(input_->line_number()).at_field(field);
}

std::vector<std::string> InputLines::sources() const {
  std::vector<std::string> names{file_name(input_->path())};
  for (const std::string& path : rest_) names.push_back(file_name(path));
  return names;
}

}  // namespace kvplan::traces
