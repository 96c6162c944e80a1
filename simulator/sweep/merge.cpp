#include "simulator/sweep/merge.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "simulator/base/check.h"
#include "simulator/sweep/database.h"

namespace kvplan::sweep {
namespace {

/// A database that has another file name until it is complete.
class Part {
 public:
  explicit Part(const std::string& target)
      : target_(target), path_(target + "." + std::to_string(::getpid()) + ".part") {}
  ~Part() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    std::filesystem::remove(path_ + "-journal", ignored);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Gives the file its name. REQUIRES: no connection has it open.
  [[nodiscard]] Status commit() const {
    std::error_code error;
    std::filesystem::create_hard_link(path_, target_, error);  // unlike a rename it replaces no file
    if (error == std::errc::file_exists) return bad_input("exists").at_file(target_);
    if (error) {  // not every file system has hard links
      std::error_code none;
      if (std::filesystem::exists(std::filesystem::symlink_status(target_, none)))
        return bad_input("exists").at_file(target_);
      error.clear();
      std::filesystem::rename(path_, target_, error);
    }
    if (error) return bad_input("cannot write: " + error.message()).at_file(target_);
    return Done{};
  }

 private:
  std::string target_, path_;
};

Status add_rows(Database& from, Database& to, const std::function<bool()>& stop) {
  return from.each([&](const Database::Row& row) -> Status {
    if (stop()) return interrupted_error();
    const auto* const number = std::get_if<std::int64_t>(&row.front());
    KVPLAN_CHECK(number != nullptr);
    KVPLAN_TRY(const auto there, to.row(*number));
    if (!there) return to.add(row);
    if (*there == row) return Done{};
    return bad_input("case " + std::to_string(*number) + " differs from the same case in another database")
        .at_file(from.path());
  });
}

Status merge_into(std::vector<Database>& databases, const std::string& path,
                  const std::function<bool()>& stop) {
  Head head = databases.front().head();
  head.shard = {};
  head.share = head.cases;
  head.dealt.clear();
  KVPLAN_TRY(Database merged, Database::create(path, head));
  for (Database& database : databases) KVPLAN_TRY_DO(add_rows(database, merged, stop));
  return merged.commit();
}

}  // namespace

Status merge(const std::vector<std::string>& inputs, const std::string& output,
             const std::function<bool()>& stop) {
  if (inputs.empty()) return bad_input("expected a database to merge");
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::symlink_status(output, none)))
    return bad_input("exists").at_file(output);
  std::vector<Database> databases;
  for (const std::string& input : inputs) {
    KVPLAN_TRY(Database database, Database::open(input));
    databases.push_back(std::move(database));
    if (const auto other = difference(databases.back().head(), databases.front().head(), false))
      return bad_input(*other).at_file(input);
  }
  const Part part(output);
  if (Status status = merge_into(databases, part.path(), stop); !status.ok()) {
    // The error names the file that was requested.
    Error error = std::move(status).error();
    return error.file == part.path() ? std::move(error).at_file(output) : error;
  }
  return part.commit();
}

}  // namespace kvplan::sweep
