// `kvplan sweep` that is killed, interrupted, run twice at once, or out of disk.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "simulator/base/random.h"
#include "simulator/sweep/sql.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/sweep/command_support.h"
#include "tests/unit/traces/support.h"

namespace kvplan::sweep {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

/// Starts `kvplan`; nothing is printed.
pid_t start(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(300);  // with sanitizers, among other programs, a minute is not enough
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
  std::vector<char*> argv{const_cast<char*>("kvplan")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(KVPLAN_PROGRAM_DIR "/kvplan", argv.data());
  ::_exit(99);
}

/// 300 cases of some milliseconds, times the number of seeds.
std::vector<std::string> many_cases(const std::string& out, const std::string& seeds = "1") {
  return {"sweep",     kTrace,
          "--set",     "workload.limit=700",
          "--vary",    "memory.pool_tokens=20000..49900:100",
          "--vary",    "seed=1.." + seeds + ":1",
          "--out",     out,
          "--threads", "2"};
}

int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(SweepCommand, NothingIsLostOrRepeatedAfterAKill) {
  const TemporaryFolder folder;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  ASSERT_EQ(wait_for(start(many_cases(folder.file("whole")))), 0);
  const auto whole_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count());
  const std::string whole = csv_of(folder.file("whole"));
  const auto known = lines_of(whole);
  ASSERT_EQ(known.size(), 301U);
  const std::set<std::string> rows(known.begin(), known.end());

  auto arguments = many_cases(folder.file("killed"));
  arguments.emplace_back("--resume");
  const char* const seed_text = std::getenv("KVPLAN_SEED");
  const std::uint64_t seed = seed_text != nullptr ? std::stoull(seed_text) : 20261122;
  SCOPED_TRACE("KVPLAN_SEED=" + std::to_string(seed));
  Random random(seed);
  std::size_t kept = 0;
  int kills = 0;
  while (true) {
    const pid_t child = start(arguments);
    if (kills < 20) {
      // Half of the kills while it begins, and all of them before a sweep could be finished.
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(whole_us / (kills < 10 ? 40 : 13))));
      ::kill(child, SIGKILL);
    }
    const int code = wait_for(child);
    if (code == 0) break;
    ASSERT_EQ(code, -SIGKILL);
    ++kills;
    const Outcome report = run_kvplan("report " + folder.file("killed") + " --csv -");
    if (report.exit_code != 0) {  // killed before the tables existed
      EXPECT_EQ(report.exit_code, 2);
      EXPECT_EQ(kept, 0U);
      continue;
    }
    const auto lines = lines_of(report.out);
    EXPECT_GE(lines.size(), kept);
    kept = lines.size();
    EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size());
    for (const std::string& line : lines) EXPECT_TRUE(rows.contains(line)) << line;
  }
  EXPECT_EQ(kills, 20);
  EXPECT_EQ(csv_of(folder.file("killed")), whole);
  EXPECT_EQ(folder.listing(), "killed whole");
}

TEST(SweepCommand, ASignalKeepsWhatIsDone) {
  const TemporaryFolder folder;
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string name = folder.file(std::to_string(signal));
    const pid_t child = start(many_cases(name, "10"));
    // Waits until there are some rows after the tables.
    std::error_code none;
    int status = 0;
    while (!std::filesystem::exists(name) || std::filesystem::file_size(name, none) < 150'000) {
      ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it ended by itself: " << status;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::kill(child, signal);
    ASSERT_EQ(wait_for(child), 3);
    const std::size_t lines = lines_of(csv_of(name)).size();
    EXPECT_GT(lines, 20U);
    EXPECT_LT(lines, 3001U);
  }
}

TEST(SweepCommand, TwoProcessesOnOneDatabase) {
  const TemporaryFolder folder;
  const std::string name = folder.file("db");
  {
    auto sql = Sql::open(name, Sql::Mode::kCreate);
    ASSERT_TRUE(sql.ok());
    ASSERT_TRUE(sql.value()->run("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").ok());
    const std::vector<std::string> commands{"sweep " + kCases + " --resume --out ", "report "};
    for (const std::string& command : commands) {
      const Outcome outcome = run_kvplan(command + name);
      EXPECT_EQ(outcome.exit_code, 2);
      EXPECT_EQ(outcome.err, "kvplan: " + name + ": another process uses the database\n");
    }
  }
  EXPECT_EQ(run_kvplan("sweep " + kCases + " --resume --out " + name).exit_code, 0);
}

TEST(SweepCommand, AFullDiskIsOneLineAndWhatFitsStays) {
  const TemporaryFolder folder;
  const std::string name = folder.file("db");
  std::string arguments;
  for (const std::string& argument : many_cases(name)) arguments += " '" + argument + "'";
  // In units of 512 or 1024 bytes, depending on the shell.
  const std::string command = "ulimit -f 200; '" KVPLAN_PROGRAM_DIR "/kvplan'" + arguments + " > '" +
                              folder.file("out") + "' 2> '" + folder.file("err") + "'";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  const std::string err = read_file(folder.file("err"));
  // A write that fails within a page gives the same error as one that fails at its first byte.
  const std::string said = "kvplan: " + name + ": cannot write";
  EXPECT_TRUE(err == said + "\n" || err == said + ": no space left\n" || err == said + ": File too large\n")
      << err;
  ASSERT_EQ(wait_for(start(many_cases(folder.file("whole")))), 0);
  auto resume = many_cases(name);
  resume.emplace_back("--resume");
  ASSERT_EQ(wait_for(start(resume)), 0);
  EXPECT_EQ(csv_of(name), csv_of(folder.file("whole")));
}

/// A former error: an empty file remained and blocked the next try.
TEST(SweepCommand, OfAFullDiskAtTheBeginningNothingStays) {
  const TemporaryFolder folder;
  const std::string command = "ulimit -f 0; '" KVPLAN_PROGRAM_DIR "/kvplan' sweep " + kTrace +
                              " --vary seed=1 --out '" + folder.file("db") + "' 2>&1 | cat > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(folder.listing(), "");
  EXPECT_EQ(run_kvplan("sweep " + kTrace + " --vary seed=1 --out " + folder.file("db")).exit_code, 0);
}

}  // namespace
}  // namespace kvplan::sweep
