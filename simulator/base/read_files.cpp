#include "simulator/base/read_files.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

namespace kvplan {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Notes {
  std::atomic<bool> wanted{false};
  std::mutex mutex;
  std::set<FileId> files;
};

Notes& notes() {
  static Notes all;
  return all;
}

void note(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return;
  const std::lock_guard lock(notes().mutex);
  notes().files.insert({status.st_dev, status.st_ino});
}

Error would_replace(const std::string& output) {
  return bad_input("expected a different file: this one is the input and would be overwritten")
      .at_file(output);
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// The path with links and dots in its folder resolved; unchanged if there is no such folder.
std::string whole_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  char* const real = ::realpath(folder.c_str(), nullptr);
  if (real == nullptr) return path;
  const std::string out = std::string(real) + "/" + path.substr(slash == std::string::npos ? 0 : slash + 1);
  std::free(real);
  return out;
}

/// True if both paths name the same file, even if neither exists yet.
bool names_same_file(const std::string& a, const std::string& b) {
  if (a.empty() || a == "-") return false;
  return exists(b) ? is_same_file(a, b) : whole_name(a) == whole_name(b);
}

}  // namespace

void note_read_files() {
  notes().wanted = true;
}

void note_read(int descriptor) {
  struct stat status {};
  if (notes().wanted && ::fstat(descriptor, &status) == 0) note(status);
}

void note_read(const std::string& path) {
  struct stat status {};
  if (notes().wanted && ::stat(path.c_str(), &status) == 0) note(status);
}

void forget_read(const std::string& path) {
  struct stat status {};
  if (!notes().wanted || ::stat(path.c_str(), &status) != 0) return;
  const std::lock_guard lock(notes().mutex);
  notes().files.erase({status.st_dev, status.st_ino});
}

Status check_path(const std::string& path) {
  if (path.find('\0') == std::string::npos) return Done{};
  return bad_input("expected a path without the character NUL").at_file(path);
}

Status check_not_read(const std::string& path) {
  struct stat status {};
  if (!notes().wanted || ::stat(path.c_str(), &status) != 0) return Done{};
  const std::lock_guard lock(notes().mutex);
  if (notes().files.contains({status.st_dev, status.st_ino})) return would_replace(path);
  return Done{};
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && S_ISREG(second.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Status check_apart(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& output = outputs[i];
    if (output.empty() || output == "-") continue;
    KVPLAN_TRY_DO(check_not_read(output));
    for (const std::string& input : inputs)
      if (is_same_file(input, output)) return would_replace(output);
    for (std::size_t other = 0; other < i; ++other)
      if (names_same_file(outputs[other], output))
        return bad_input("expected a different file for each output").at_file(output);
  }
  return Done{};
}

}  // namespace kvplan
