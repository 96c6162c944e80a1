// The output files of one command: all of them appear, or none. Standard output ("-") is written at the end.
//
// Life cycle: `add` each result, `commit` once; without `commit` nothing appears.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// True: both exist and are the same file, under whatever names; never true for devices and pipes.
bool is_same_file(const std::string& a, const std::string& b);
/// Checks that no output is an input file, and that no two outputs are the same file. Every command with an input and
/// an output calls this before it opens either. Errors name the output.
Status check_apart(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace kvplan::cli
