#include "simulator/cli/database_name.h"

#include <filesystem>

namespace kvplan::cli {

Status check_database_name(const std::string& path, bool there) {
  if (path == "-" || path.ends_with(".gz") || path.ends_with(".zst"))
    return bad_input("expected a regular file for the database").at_file(path);
  std::error_code none;
  if (!there && std::filesystem::exists(std::filesystem::symlink_status(path, none)))
    return bad_input("database exists already: expected --resume to continue it").at_file(path);
  return Done{};
}

}  // namespace kvplan::cli
