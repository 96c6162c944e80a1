// The output files of one command: all of them appear, or none. Standard output ("-") is written at the end.
//
// Life cycle: `add` each result, `commit` once; without `commit` nothing appears.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/read_files.h"
#include "simulator/cli/command.h"

namespace kvplan {
class Output;
}

namespace kvplan::cli {

class Outputs {
 public:
  Outputs();
  ~Outputs();
  /// An empty path means no output.
  Status add(const std::string& path, std::string_view text);
  Status add_pieces(const std::string& path, const std::function<Status(const ByteSink& sink)>& make);
  Status commit();

 private:
  std::vector<std::unique_ptr<Output>> files_;
  std::string to_stdout_;
  bool uses_stdout_{false};
};

}  // namespace kvplan::cli
