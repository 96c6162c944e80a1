// The progress line, on a pseudo terminal. Slow work is simulated by a pipe that the test does not read or fill, so no
// time is measured.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <regex>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::read_file;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// A terminal that shows progress.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) return;
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  ~Terminal() {
    ::close(master_);
    close_slave();
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  [[nodiscard]] bool works() const { return slave_ >= 0; }
  [[nodiscard]] int slave() const { return slave_; }
  void close_slave() {
    if (slave_ >= 0) ::close(slave_);
    slave_ = -1;
  }
  /// Reads until the text so far matches, or until the writer has closed.
  bool wait_for(const std::string& pattern) {
    const std::regex regex(pattern);
    while (!std::regex_search(text_, regex))
      if (!read_some()) return false;
    return true;
  }
  void read_to_end() {
    while (read_some()) {
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool read_some() {
    char bytes[4096];
    const ssize_t got = ::read(master_, bytes, sizeof bytes);  // fails once no program has it open
    if (got <= 0) return false;
    text_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }
  int master_;
  int slave_{-1};
  std::string text_;
};

pid_t start(int error, std::vector<std::string> arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(60);  // in case it does not end
  ::dup2(error, STDERR_FILENO);
  arguments.insert(arguments.begin(), "kvplan");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(KVPLAN_PROGRAM_DIR "/kvplan", argv.data());
  ::_exit(99);
}

int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::string many_rows() {
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (int i = 0; i < 300'000; ++i) rows += std::to_string(i) + ",1000,100\n";
  return rows;
}

void drain(int descriptor) {
  char bytes[65'536];
  while (::read(descriptor, bytes, sizeof bytes) > 0) {
  }
}

TEST(Progress, OfReadingIsInBytesOnTheDisk) {
  const TemporaryFolder folder;
  write_file(folder.file("t.csv"), many_rows());
  ASSERT_EQ(std::system(("gzip -k '" + folder.file("t.csv") + "'").c_str()), 0);
  ASSERT_EQ(::mkfifo(folder.file("out.csv").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(folder.file("quiet.csv").c_str(), 0600), 0);
  for (const char* name : {"t.csv", "t.csv.gz"}) {
    SCOPED_TRACE(name);
    Terminal terminal;
    if (!terminal.works()) GTEST_SKIP() << "no pseudo terminals here";
    const int file = ::open(folder.file("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const pid_t watched =
        start(terminal.slave(), {"trace", "convert", folder.file(name), "-o", folder.file("out.csv")});
    const pid_t unwatched =
        start(file, {"trace", "convert", folder.file(name), "-o", folder.file("quiet.csv")});
    terminal.close_slave();
    ::close(file);
    // The first piece does not fit into the pipe: a part of the input is read.
    const int out = ::open(folder.file("out.csv").c_str(), O_RDONLY | O_CLOEXEC);
    const int quiet = ::open(folder.file("quiet.csv").c_str(), O_RDONLY | O_CLOEXEC);
    const auto bytes = static_cast<double>(std::filesystem::file_size(folder.file(name)));
    char total[32];
    std::snprintf(total, sizeof total, bytes < 1048576 ? "%.0f KiB" : "%.2f MiB",
                  bytes < 1048576 ? bytes / 1024 : bytes / 1048576);
    EXPECT_TRUE(terminal.wait_for("\r  read \\[#+\\.+\\] +[1-9][0-9]? % of " + std::string(total) +
                                  ", [0-9.]+ [KM]iB/s"))
        << terminal.text() << " of " << total;
    drain(out);
    drain(quiet);
    EXPECT_EQ(exit_code(watched), 0);
    EXPECT_EQ(exit_code(unwatched), 0);
    terminal.read_to_end();
    EXPECT_TRUE(terminal.text().ends_with("\r\033[K")) << "the line is wiped";
    EXPECT_EQ(read_file(folder.file("err")), "") << "nothing is shown";
    ::close(out);
    ::close(quiet);
  }
}

TEST(Progress, OfAPipeHasNoTotalAndAnInterruptLeavesNothing) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"trace", "import", "IN", "-o", "OUT"},
        {"trace", "info", "IN", "--json", "OUT"},
        {"cache", "IN", "--driver", "seq", "--block-tokens", "4", "--blocks", "90", "--csv", "OUT"}}) {
    SCOPED_TRACE(command[0] + " " + command[1]);
    const TemporaryFolder folder;
    Terminal terminal;
    if (!terminal.works()) GTEST_SKIP() << "no pseudo terminals here";
    ASSERT_EQ(::mkfifo(folder.file("t.csv").c_str(), 0600), 0);
    std::vector<std::string> arguments = command;
    for (std::string& argument : arguments) {
      if (argument == "IN") argument = folder.file("t.csv");
      if (argument == "OUT") argument = folder.file("out");
    }
    const pid_t child = start(terminal.slave(), arguments);
    terminal.close_slave();
    const int writer = ::open(folder.file("t.csv").c_str(), O_WRONLY | O_CLOEXEC);
    const std::string rows = "arrival_ns,input_tokens,output_tokens\n1,1,1\n2,1,1\n";
    ASSERT_EQ(::write(writer, rows.data(), rows.size()), static_cast<ssize_t>(rows.size()));
    EXPECT_TRUE(terminal.wait_for("\r  read 50 B, [0-9.]+ B/s")) << terminal.text();
    ASSERT_EQ(::kill(child, SIGINT), 0);
    EXPECT_EQ(exit_code(child), 3);
    terminal.read_to_end();
    EXPECT_TRUE(terminal.text().ends_with("\r\033[Kkvplan: interrupted\r\n")) << terminal.text();
    EXPECT_EQ(folder.listing(), "t.csv");
    ::close(writer);
  }
}

TEST(Progress, OfMakingIsInRequests) {
  const TemporaryFolder folder;
  Terminal terminal;
  if (!terminal.works()) GTEST_SKIP() << "no pseudo terminals here";
  ASSERT_EQ(::mkfifo(folder.file("out.csv").c_str(), 0600), 0);
  const pid_t child = start(terminal.slave(),
                            {"trace", "synth", "--arrivals", "poisson:rate_per_s=5", "--lengths",
                             "fixed:input=9,output=9", "--requests", "300000", "-o", folder.file("out.csv")});
  terminal.close_slave();
  const int out = ::open(folder.file("out.csv").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_TRUE(terminal.wait_for("\r  \\[####\\.{16}\\]  21 % of 300,000 requests")) << terminal.text();
  ASSERT_EQ(::kill(child, SIGINT), 0);
  EXPECT_EQ(exit_code(child), 3);
  terminal.read_to_end();
  EXPECT_TRUE(terminal.text().ends_with("kvplan: interrupted\r\n")) << terminal.text();
  EXPECT_EQ(folder.listing(), "out.csv");
  ::close(out);
}

}  // namespace
}  // namespace kvplan::cli
