#include "simulator/cli/outputs.h"

#include <filesystem>

#include "traces/io/output.h"

namespace kvplan::cli {

namespace {

/// Works even if neither file exists yet.
bool names_same_file(const std::string& a, const std::string& b) {
  if (a.empty() || a == "-") return false;
  std::error_code none;
  if (std::filesystem::exists(b, none)) return is_same_file(a, b);
  const auto real_a = std::filesystem::weakly_canonical(std::filesystem::absolute(a, none), none);
  return !none && real_a == std::filesystem::weakly_canonical(std::filesystem::absolute(b, none), none);
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::is_regular_file(b, none) && std::filesystem::equivalent(a, b, none);
}

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
  KVPLAN_TRY(auto file, traces::create_output(path));
  KVPLAN_TRY_DO(make([&](std::string_view bytes) { return file->write(bytes); }));
  files_.push_back(std::move(file));
  return Done{};
}

Status Outputs::commit() {
  // A device that is full says so before the first of them has its name.
  for (const auto& file : files_) KVPLAN_TRY_DO(file->finish());
  if (interrupted()) return interrupted_error();
  for (const auto& file : files_) KVPLAN_TRY_DO(file->commit());
  return uses_stdout_ ? write_text("-", to_stdout_) : Status(Done{});
}

Status check_apart(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& output = outputs[i];
    if (output.empty() || output == "-") continue;
    for (const std::string& input : inputs)
      if (is_same_file(input, output))
        return bad_input("expected a different file: this one is the input and would be overwritten")
            .at_file(output);
    for (std::size_t other = 0; other < i; ++other)
      if (names_same_file(outputs[other], output))
        return bad_input("expected a different file for each output").at_file(output);
  }
  return Done{};
}

}  // namespace kvplan::cli
