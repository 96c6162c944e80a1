// The lines of the files of one import, one file after the other: for importers of formats that are not tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/import/importer.h"

namespace kvplan::traces {

/// A path without its folders.
std::string file_name(std::string_view path);

/// Lines as `Input::next_line` gives them; views stay valid until the next call.
class InputLines {
 public:
  explicit InputLines(Inputs inputs)
      : input_(std::move(inputs.first)), rest_(std::move(inputs.rest)), on_read_(std::move(inputs.on_read)) {}

  /// The next line that is not empty; false at the end of the last file.
  Result<bool> next(std::string_view& line);
  [[nodiscard]] Input& input() { return *input_; }
  /// An error in the latest line.
  [[nodiscard]] Error error_here(std::string message, std::string_view field) const;
  /// File names without folders. REQUIRES: no other file than the first has been opened.
  [[nodiscard]] std::vector<std::string> sources() const;

 private:
  std::unique_ptr<Input> input_;
  std::vector<std::string> rest_;
  ReadHook on_read_;
  std::size_t next_file_{0};
};

}  // namespace kvplan::traces
