#include "simulator/base/file_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "simulator/base/read_files.h"

namespace kvplan {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 17;
constexpr int kMostAttempts = 1000;  // temporary names that other files already have

/// The path by which linkat refers to the file of a descriptor.
std::string descriptor_link(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

Error system_error(std::string_view what, const std::string& path) {
  return bad_input(std::string(what) + ": " + std::strerror(errno)).at_file(path);
}

/// A descriptor with a buffer, and the way in which its file gets the target's name.
class FileOutput final : public Output {
 public:
  enum class Ending : std::uint8_t {
    kNone,    ///< the target is written directly
    kRename,  ///< a temporary file with a name
    kLink,    ///< a file without a name
  };
  FileOutput(int descriptor, std::string path, Ending ending, std::string target, std::string temporary)
      : descriptor_(descriptor),
        path_(std::move(path)),
        ending_(ending),
        target_(std::move(target)),
        temporary_(std::move(temporary)) {
    buffer_.reserve(kBuffer);
  }
  ~FileOutput() override {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status write(std::string_view bytes) override {
    if (buffer_.size() + bytes.size() <= kBuffer) {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
      return Done{};
    }
    KVPLAN_TRY_DO(flush());
    return write_now(bytes);
  }

  Status finish() override {
    if (finished_) return Done{};
    KVPLAN_TRY_DO(flush());
    if (ending_ != Ending::kNone) KVPLAN_TRY_DO(check_not_read(path_));
    if (ending_ != Ending::kNone && ::fsync(descriptor_) != 0) return system_error("cannot write", path_);
    finished_ = true;
    return Done{};
  }

  Status commit() override {
    KVPLAN_TRY_DO(finish());
    if (ending_ == Ending::kLink) KVPLAN_TRY_DO(link_target());
    if (descriptor_ > STDERR_FILENO) {
      const int closed = ::close(descriptor_);
      descriptor_ = -1;
      if (closed != 0) return system_error("cannot write", path_);
    }
    return temporary_.empty() ? Status(Done{}) : rename_temporary();
  }

 private:
  Status flush() {
    KVPLAN_TRY_DO(write_now({buffer_.data(), buffer_.size()}));
    buffer_.clear();
    return Done{};
  }
  Status write_now(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
      // Only a signal with a handler ends a waiting write. It means that the user asked to stop.
      if (put < 0 && errno == EINTR) return interrupted_error();
      if (put <= 0) return system_error("cannot write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return Done{};
  }

  Status rename_temporary() {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return system_error("cannot write", path_);
    temporary_.clear();
    return Done{};
  }
  /// Gives the file without a name the name of the target.
  Status link_target() {
    const std::string file = descriptor_link(descriptor_);
    const auto link_as = [&](const std::string& name) {
      return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_as(target_)) return Done{};
    // A link replaces nothing, but a rename does. So the file is linked under a temporary name first.
    for (int attempt = 0; errno == EEXIST && attempt < kMostAttempts; ++attempt) {
      const std::string name = target_ + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt);
      if (!link_as(name)) continue;
      temporary_ = name;
      return rename_temporary();
    }
    return system_error("cannot write", path_);
  }

  int descriptor_;
  std::string path_;  ///< as the user wrote it
  Ending ending_;
  std::string target_;     ///< the path with symbolic links resolved
  std::string temporary_;  ///< a name that is to be renamed or removed
  bool finished_{false};
  std::vector<char> buffer_;
};

/// The path with symbolic links resolved, so that a link stays a link.
std::string resolved(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out(real);
  std::free(real);
  return out;
}

/// Opens a file without a name in the folder of the target; -1 if the system has no such files, or no way to name
/// one.
int open_unnamed(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  if (::access(descriptor_link(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

/// A regular file that will be created, or that replaces an older file and takes over its mode.
Result<std::unique_ptr<Output>> create_regular(const std::string& path, const std::string& target,
                                               mode_t mode, Temporary kind) {
  using Ending = FileOutput::Ending;
  std::string temporary;
  int descriptor = kind == Temporary::kUnnamed ? open_unnamed(target) : -1;
  const Ending ending = descriptor >= 0 ? Ending::kLink : Ending::kRename;
  if (ending == Ending::kRename) {
    temporary = target + ".XXXXXX";
    descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor < 0) return system_error("cannot write", path);
  }
  auto file = std::make_unique<FileOutput>(descriptor, path, ending, target, temporary);
  if (::fchmod(descriptor, mode) != 0) return system_error("cannot write", path);
  return std::unique_ptr<Output>(std::move(file));
}

}  // namespace

Result<std::unique_ptr<Output>> create_file_output(const std::string& path, Temporary kind) {
  using Ending = FileOutput::Ending;
  const auto direct = [&](int descriptor, const std::string& name) {
    return std::unique_ptr<Output>(std::make_unique<FileOutput>(descriptor, name, Ending::kNone, "", ""));
  };
  if (path == "-") return direct(STDOUT_FILENO, "standard output");
  KVPLAN_TRY_DO(check_path(path));
  const std::string target = resolved(path);
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return bad_input("cannot write: it is a folder").at_file(path);
  if (exists && !S_ISREG(status.st_mode)) {
    const int device = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (device < 0 && errno == EINTR) return interrupted_error();
    if (device < 0) return system_error("cannot write", path);
    return direct(device, path);
  }
  KVPLAN_TRY_DO(check_not_read(path));
  if (exists && ::access(target.c_str(), W_OK) != 0) return system_error("cannot write", path);
  return create_regular(path, target, exists ? status.st_mode & 07777 : mode_of_new_files(), kind);
}

}  // namespace kvplan
