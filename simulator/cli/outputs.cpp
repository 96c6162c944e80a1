#include "simulator/cli/outputs.h"

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
  KVPLAN_TRY(auto file, traces::create_output(path));
  KVPLAN_TRY_DO(make([&](std::string_view bytes) { return file->write(bytes); }));
  files_.push_back(std::move(file));
  return Done{};
}

Status Outputs::commit() {
  // All files are finished first: if the disk is full, the error comes before any file has its final name.
  for (const auto& file : files_) KVPLAN_TRY_DO(file->finish());
  if (interrupted()) return interrupted_error();
  for (const auto& file : files_) KVPLAN_TRY_DO(file->commit());
  return uses_stdout_ ? write_text("-", to_stdout_) : Status(Done{});
}

}  // namespace kvplan::cli
