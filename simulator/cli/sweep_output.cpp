#include "simulator/cli/sweep_output.h"

#include <filesystem>

#include "simulator/report/number_text.h"
#include "simulator/sweep/database.h"

namespace kvplan::cli {

Status check_database_name(const std::string& path, bool there) {
  if (path == "-" || path.ends_with(".gz") || path.ends_with(".zst"))
    return bad_input("expected a plain file for the database").at_file(path);
  std::error_code none;
  if (!there && std::filesystem::exists(std::filesystem::symlink_status(path, none)))
    return bad_input("exists; --resume goes on with it").at_file(path);
  return Done{};
}

Result<std::string> database_text(sweep::Database& database) {
  const sweep::Head& head = database.head();
  KVPLAN_TRY(const std::int64_t done, database.done());
  KVPLAN_TRY(const std::int64_t failed, database.failed());
  const bool whole = head.shard.count == 1;
  std::string text =
      database.path() + ": " + report::grouped(done) + " of " + report::grouped(head.share) + " cases";
  if (!whole) text += " of shard " + head.shard.text();
  text += failed == 0 ? "" : ", " + report::grouped(failed) + " of them failed";
  if (!head.chosen.empty()) text += "; " + head.chosen;
  text += "\n";
  for (const plan::Vary& vary : head.varies) {
    text += "  " + vary.path + ": " + vary.values.front();
    if (vary.values.size() > 2)
      text += ", ... (" + report::grouped(static_cast<std::int64_t>(vary.values.size()));
    if (vary.values.size() > 2) text += " values)";
    if (vary.values.size() > 1) text += ", " + vary.values.back();
    text += "\n";
  }
  return text;
}

}  // namespace kvplan::cli
