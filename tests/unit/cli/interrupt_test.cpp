// Ctrl-C ends a command with exit code 3, also while it waits for its output to be read or its input to be written; a
// command that is killed after a time limit leaves no file. An ignored SIGHUP has no effect; a closed standard stream
// is not used as an output.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::read_file;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// Starts `kvplan` with standard output at `out` and standard error in the folder's "err".
pid_t start(const TemporaryFolder& folder, int out, std::vector<std::string> arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(60);  // in case it does not end
  const int err = ::open(folder.file("err").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  arguments.insert(arguments.begin(), "kvplan");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(KVPLAN_PROGRAM_DIR "/kvplan", argv.data());
  ::_exit(99);
}

void expect_interrupted(pid_t child, const TemporaryFolder& folder) {
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(read_file(folder.file("err")), "kvplan: interrupted\n");
}

TEST(Interrupt, EndsAWriteWithoutAReader) {
  const TemporaryFolder folder;
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (int i = 0; i < 20'000; ++i) rows += std::to_string(i) + ",1,1\n";
  write_file(folder.file("t.csv"), rows);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = start(folder, ends[1],
                            {"cache", folder.file("t.csv"), "--driver", "seq", "--block-tokens", "4",
                             "--blocks", "90", "--csv", "-"});
  ::close(ends[1]);
  char first = 0;
  ASSERT_EQ(::read(ends[0], &first, 1), 1);  // the rest does not fit into the pipe
  ASSERT_EQ(::kill(child, SIGINT), 0);
  expect_interrupted(child, folder);
  ::close(ends[0]);
}

TEST(Interrupt, EndsAReadWithoutAWriter) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("t.csv").c_str(), 0600), 0);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t child =
      start(folder, null, {"trace", "info", folder.file("t.csv"), "--json", folder.file("out")});
  const int writer = ::open(folder.file("t.csv").c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
  ASSERT_GE(writer, 0);
  ASSERT_EQ(::kill(child, SIGINT), 0);
  expect_interrupted(child, folder);
  EXPECT_EQ(folder.listing(), "err t.csv");
  ::close(writer);
  ::close(null);
}

/// As nohup starts it; and as a script starts background processes, in which SIGINT is ignored.
TEST(Interrupt, AHangUpThatIsIgnoredStaysSo) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("t.csv").c_str(), 0600), 0);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto hang_up = std::signal(SIGHUP, SIG_IGN);
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const pid_t child =
      start(folder, null, {"trace", "info", folder.file("t.csv"), "--json", folder.file("out")});
  std::signal(SIGHUP, hang_up);
  std::signal(SIGINT, interrupt);
  const int writer = ::open(folder.file("t.csv").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  ASSERT_EQ(::kill(child, SIGHUP), 0);
  const std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  ASSERT_EQ(::write(writer, rows.data(), rows.size()), static_cast<ssize_t>(rows.size()));
  ::usleep(50'000);
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it ended";
  ASSERT_EQ(::kill(child, SIGINT), 0);
  expect_interrupted(child, folder);
  ::close(writer);
  ::close(null);
}

TEST(ClosedStreams, AreNotTakenForOutputs) {
  const TemporaryFolder folder;
  const std::string kvplan = KVPLAN_PROGRAM_DIR "/kvplan ";
  const std::string trace = folder.file("t.csv");
  const std::string rows = "arrival_ns,input_tokens,output_tokens\n0,100,10\n5,20,3\n";
  write_file(trace, rows);
  const auto exit_code = [](const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string run = kvplan + "run " + trace + " --json ";
  ASSERT_EQ(exit_code(run + folder.file("whole") + " >" + folder.file("text")), 0);
  const std::string whole = read_file(folder.file("whole"));
  // The text cannot be written, which is reported; the report is complete.
  EXPECT_EQ(exit_code(run + folder.file("o") + " >&- 2>" + folder.file("err")), 2);
  EXPECT_EQ(read_file(folder.file("o")), whole);
  EXPECT_NE(read_file(folder.file("err")).find("standard output: cannot write"), std::string::npos);
  EXPECT_EQ(exit_code(run + folder.file("p") + " <&- >&- 2>&-"), 2);
  EXPECT_EQ(read_file(folder.file("p")), whole);
  EXPECT_EQ(exit_code(run + "- --timeline " + folder.file("q") + " >&- 2>&-"), 2);
  EXPECT_EQ(read_file(folder.file("q")).find('{'), std::string::npos);
  // Only a file was requested.
  const std::string import = kvplan + "trace import " + trace + " -o " + folder.file("t.kvt");
  ASSERT_EQ(exit_code(import + " 2>" + folder.file("err")), 0);
  const std::string kvt = read_file(folder.file("t.kvt"));
  EXPECT_EQ(exit_code(import + " <&- >&- 2>&-"), 0);
  EXPECT_EQ(read_file(folder.file("t.kvt")), kvt);
}

}  // namespace
}  // namespace kvplan::cli
