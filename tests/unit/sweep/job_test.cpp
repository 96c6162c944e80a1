// The files that run a sweep on clusters, without a cluster: the test sets what Slurm and Kubernetes guarantee to a
// task. One task is stopped and continues elsewhere, another is killed and restarted, and the merged CSV equals that of
// a local run.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>

#include "tests/unit/traces/support.h"

namespace kvplan::sweep {
namespace {

using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// 600 cases of some milliseconds.
const std::string kSweep = "sweep '" KVPLAN_SOURCE_DIR
                           "/traces/samples/chat.kvt' --set workload.limit=700"
                           " --vary 'memory.pool_tokens=20000..49900:100'"
                           " --vary 'memory.allocator=paged;contiguous:reserve=pow2' --threads 1";

std::string csv_of(const std::string& database) {
  const auto outcome = run_kvplan("report \"" + database + "\" --csv -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

/// A task in a process group of its own, as schedulers start them.
class Task {
 public:
  Task(const std::string& script, const std::vector<std::pair<std::string, std::string>>& environment,
       const std::string& log) {
    child_ = ::fork();
    if (child_ != 0) return;
    ::setpgid(0, 0);
    ::alarm(120);
    for (const char* name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID", "JOB_COMPLETION_INDEX"})
      ::unsetenv(name);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(to, STDOUT_FILENO);
    ::dup2(to, STDERR_FILENO);
    ::execl("/bin/sh", "sh", script.c_str(), nullptr);
    ::_exit(99);
  }
  [[nodiscard]] pid_t group() const { return -child_; }
  [[nodiscard]] pid_t shell() const { return child_; }
  [[nodiscard]] int wait() const {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t child_{0};
};

/// Waits until the only database below a machine's folder has some rows after its tables.
void wait_for_rows(const std::string& local) {
  for (int i = 0; i < 6000; ++i) {
    std::error_code none;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(local, none))
      if (entry.path().filename() == "shard.db" && entry.file_size(none) > 110'000) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  FAIL() << "no rows in " << local;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(SweepJob, AnArrayOfTasksIsALocalRun) {
  const TemporaryFolder folder;
  for (const char* name : {"one", "two", "logs", "out of it"})
    std::filesystem::create_directory(folder.file(name));
  const std::string out = folder.file("out of it") + "/it's.db";
  const std::string script = folder.file("job.sh");
  const auto made = run_kvplan(kSweep + " --out \"" + out + "\" --shards 3 --sbatch " + script);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_FALSE(std::filesystem::exists(out));  // nothing ran
  ASSERT_EQ(run_kvplan(kSweep + " --out " + folder.file("local")).exit_code, 0);
  const auto task = [&](const char* index, const char* machine) {
    return Task(script,
                {{"SLURM_ARRAY_TASK_ID", index},
                 {"SLURM_ARRAY_JOB_ID", "77"},
                 {"KVPLAN_LOCAL", folder.file(machine)}},
                folder.file("logs") + "/" + index);
  };
  const auto log = [&](const char* index) { return read_file(folder.file("logs") + "/" + index); };
  const auto shard = [&](const char* index) { return out + ".shard-" + index + "-of-3"; };
  const auto there = [](const std::string& name) { return std::filesystem::exists(name); };

  EXPECT_EQ(task("1", "one").wait(), 0) << log("1");
  EXPECT_TRUE(there(shard("1")));

  // Asked to stop: finished cases are kept, and the rest continues on another machine.
  {
    const Task stopped = task("2", "one");
    wait_for_rows(folder.file("one"));
    ::kill(stopped.shell(), SIGTERM);
    EXPECT_EQ(stopped.wait(), 3) << log("2");
  }
  EXPECT_FALSE(there(shard("2")));
  ASSERT_TRUE(there(shard("2") + ".part"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("one")));
  const std::size_t kept = lines(run_kvplan("report \"" + shard("2") + ".part\" --csv -").out);
  EXPECT_GT(kept, 10U);
  EXPECT_EQ(task("2", "two").wait(), 0) << log("2");
  EXPECT_TRUE(there(shard("2")));
  EXPECT_FALSE(there(shard("2") + ".part"));

  // Stopped, then killed with all its processes, with more cases finished than kept: continues from the kept ones.
  {
    const Task stopped = task("3", "one");
    wait_for_rows(folder.file("one"));
    ::kill(stopped.group(), SIGTERM);  // some schedulers ask every process
    const int code = stopped.wait();
    EXPECT_TRUE(code == 3 || code == 128 + SIGTERM) << code << log("3");
    ASSERT_TRUE(there(shard("3") + ".part"));
    const std::size_t part = lines(run_kvplan("report \"" + shard("3") + ".part\" --csv -").out);
    const Task killed = task("3", "two");
    const std::string database =
        folder.file("two") + "/kvplan-" + std::to_string(::getuid()) + "-77-3/shard.db";
    std::error_code none;
    const auto size = std::filesystem::file_size(shard("3") + ".part", none);
    while (!there(database) || std::filesystem::file_size(database, none) < size + 10'000)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(killed.group(), SIGKILL);
    EXPECT_EQ(killed.wait(), -SIGKILL);
    EXPECT_TRUE(there(database));
    EXPECT_NE(log("3").find("goes on after " + std::to_string(part - 1) + " cases"), std::string::npos)
        << log("3");
    // On this machine it continues from what the kill left, elsewhere from the kept cases. The shell has ended; its
    // processes may hold the lock of the database a little longer.
    std::size_t left = 0;
    for (int tries = 0; tries < 1000 && left == 0; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      left = lines(run_kvplan("report " + database + " --csv -").out);
    }
    EXPECT_GE(left, part);
    std::filesystem::rename(folder.file("two"), folder.file("three"));
    std::filesystem::create_directory(folder.file("two"));
    std::filesystem::resize_file(folder.file("logs") + "/3", 0);
    const Task elsewhere = task("3", "one");
    while (log("3").find("\n") == std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(elsewhere.group(), SIGKILL);
    EXPECT_EQ(elsewhere.wait(), -SIGKILL);
    EXPECT_EQ(log("3").find("shard 3 of 3 goes on after " + std::to_string(part - 1) + " cases"), 0U)
        << log("3");
    std::filesystem::remove_all(folder.file("one") + "/kvplan-" + std::to_string(::getuid()) + "-77-3");
    std::filesystem::resize_file(folder.file("logs") + "/3", 0);
    EXPECT_EQ(task("3", "three").wait(), 0) << log("3");
    EXPECT_EQ(log("3").find("shard 3 of 3 goes on after " + std::to_string(left - 1) + " cases"), 0U)
        << log("3");
  }

  // A shard that is complete is not run again.
  const auto before = std::filesystem::last_write_time(shard("2"));
  EXPECT_EQ(task("2", "one").wait(), 0);
  EXPECT_NE(log("2").find("shard 2 of 3 is done"), std::string::npos);
  EXPECT_EQ(std::filesystem::last_write_time(shard("2")), before);

  // The merge command that the script names; no other file remains.
  ASSERT_NE(read_file(script).find("#   kvplan merge "), std::string::npos);
  std::istringstream text(read_file(script));
  std::string merge;
  for (std::string line; std::getline(text, line);)
    if (line.find("#   kvplan merge ") == 0) merge = line.substr(11);
  ASSERT_EQ(run_kvplan(merge).exit_code, 0);
  EXPECT_EQ(csv_of(out), csv_of(folder.file("local")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("one")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("two")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("three")));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("out of it")))
    files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 4U);
}

/// The lines of a block that is `spaces` deep, from the line after `head` on.
std::string block_of(const std::string& yaml, const std::string& head, std::size_t spaces) {
  std::istringstream in(yaml);
  std::string line, block;
  while (std::getline(in, line) && line != head) {
  }
  while (std::getline(in, line)) {
    if (line.empty()) {
      block += "\n";
    } else if (line.find_first_not_of(' ') >= spaces) {
      block += line.substr(spaces) + "\n";
    } else {
      break;
    }
  }
  return block;
}

TEST(SweepJob, AnIndexedJobIsALocalRun) {
  const TemporaryFolder folder;
  const std::string manifest = folder.file("job.yaml");
  const std::string cases =
      "sweep '" KVPLAN_SOURCE_DIR
      "/traces/samples/chat.kvt' --set workload.limit=60 --vary memory.pool_tokens=9000..60000:log"
      " --vary 'memory.allocator=paged;buddy' --random 30 --seed 3";
  const auto made = run_kvplan(cases + " --out " + folder.file("db") + " --shards 2 --kubernetes " +
                               manifest + " --image \"it's/kvplan:1\" --claim data");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string yaml = read_file(manifest);
  for (const char* line : {"  completionMode: Indexed\n", "  completions: 2\n", "  parallelism: 2\n",
                           "          image: 'it''s/kvplan:1'\n", "            claimName: 'data'\n"})
    EXPECT_NE(yaml.find(line), std::string::npos) << line;
  // The claim is the folder in which tasks run.
  write_file(folder.file("job.sh"),
             "cd '" + folder.file("") + "' || exit 9\n" + block_of(yaml, "            - |", 14));
  std::filesystem::create_directory(folder.file("local"));
  for (const char* index : {"1", "0"})
    EXPECT_EQ(Task(folder.file("job.sh"),
                   {{"JOB_COMPLETION_INDEX", index},
                    {"KVPLAN", KVPLAN_PROGRAM_DIR "/kvplan"},
                    {"KVPLAN_LOCAL", folder.file("local")}},
                   folder.file("log"))
                  .wait(),
              0)
        << read_file(folder.file("log"));
  ASSERT_EQ(run_kvplan("merge " + folder.file("db") + ".shard-1-of-2 " + folder.file("db") +
                       ".shard-2-of-2 --out " + folder.file("db"))
                .exit_code,
            0);
  ASSERT_EQ(run_kvplan(cases + " --out " + folder.file("whole")).exit_code, 0);
  EXPECT_EQ(csv_of(folder.file("db")), csv_of(folder.file("whole")));
  // A task without a number reports that.
  EXPECT_NE(Task(folder.file("job.sh"), {{"KVPLAN_LOCAL", folder.file("local")}}, folder.file("log")).wait(),
            0);
  EXPECT_NE(read_file(folder.file("log")).find("neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set"),
            std::string::npos);
}

TEST(SweepJob, EveryOptionIsGivenAgain) {
  const TemporaryFolder folder;
  write_file(folder.file("t.csv"), "when,in,out\n0,10,10\n5,20,3\n");
  const std::string script = folder.file("job.sh");
  const auto made = run_kvplan("sweep --map arrival=when:s,input=in,output=out " + folder.file("t.csv") +
                               " --set seed=4 --vary 'memory.pool_tokens=100;200' --set 'engine.max_seqs=2'"
                               " --random 2 --seed 9 --threads 3 --shard 1/1 --out db --shards 2 --sbatch " +
                               script);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string text = read_file(script);
  const std::size_t begin = text.find("  exec \"$kvplan\" sweep ");
  ASSERT_NE(begin, std::string::npos);
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  EXPECT_EQ(line.find("  exec \"$kvplan\" sweep " + folder.file("t.csv") + " --"), 0U) << line;
  for (const char* option :
       {" --map arrival=when:s,input=in,output=out", " --set seed=4", " --set engine.max_seqs=2",
        " --vary 'memory.pool_tokens=100;200'", " --random 2", " --seed 9"})
    EXPECT_NE(line.find(option), std::string::npos) << option << " in " << line;
  for (const char* option : {"--out", "--threads", "--shard", "--sbatch"})
    EXPECT_EQ(line.find(option), std::string::npos) << option << " in " << line;
  EXPECT_NE(text.find("#SBATCH --cpus-per-task=3\n"), std::string::npos);
  EXPECT_NE(text.find("#SBATCH --array=1-2\n"), std::string::npos);

  const auto error = [&](const std::string& options) {
    const auto outcome =
        run_kvplan("sweep " + folder.file("t.csv") +
                   " --map arrival=when:s,input=in,output=out --vary seed=1 --out db " + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(error("--sbatch x").find("--shards"), std::string::npos);
  EXPECT_NE(error("--shards 2 --kubernetes x").find("--image"), std::string::npos);
  EXPECT_NE(error("--shards 2 --sbatch x --image y").find("--kubernetes"), std::string::npos);
  EXPECT_NE(error("--shards 2").find("--sbatch"), std::string::npos);
  EXPECT_EQ(error("--shards 2 --sbatch x --vary memory.pool_tokens=x").find("kvplan: memory.pool_tokens: "),
            0U);
  EXPECT_EQ(error("--shards 2 --sbatch " + folder.file("t.csv")),
            "kvplan: " + folder.file("t.csv") +
                ": expected a different file: this one is the input and would be overwritten\n");
  EXPECT_EQ(folder.listing(), "job.sh t.csv");
}

}  // namespace
}  // namespace kvplan::sweep
