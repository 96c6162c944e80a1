#include "simulator/cli/outputs.h"

#include <filesystem>

#include "traces/io/output.h"

namespace kvplan::cli {

Outputs::Outputs() = default;
Outputs::~Outputs() = default;

Status Outputs::add(const std::string& path, std::string_view text) {
  return add_pieces(path, [&](const ByteSink& sink) { return sink(text); });
}

Status Outputs::add_pieces(const std::string& path, const std::function<Status(const ByteSink& sink)>& make) {
  if (path.empty()) return Done{};
  if (path == "-") {
    uses_stdout_ = true;
    return make([&](std::string_view bytes) -> Status {
      to_stdout_ += bytes;
      return Done{};
    });
  }
  KVPLAN_TRY(auto file, traces::Output::create(path));
  KVPLAN_TRY_DO(make([&](std::string_view bytes) { return file->write(bytes); }));
  files_.push_back(std::move(file));
  return Done{};
}

Status Outputs::commit() {
  for (const auto& file : files_) KVPLAN_TRY_DO(file->commit());
  return uses_stdout_ ? write_text("-", to_stdout_) : Status(Done{});
}

Status check_apart(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  for (const std::string& input : inputs) {
    for (const std::string& output : outputs) {
      std::error_code none;
      if (!output.empty() && output != "-" && std::filesystem::equivalent(input, output, none))
        return bad_input("expected another file than the input, which it would replace").at_file(output);
    }
  }
  return Done{};
}

}  // namespace kvplan::cli
