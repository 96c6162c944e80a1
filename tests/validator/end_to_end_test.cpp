// The whole way by the programs alone: kvplan run writes a log, kvplan-validate replays it. The log's bytes
// are the same whether the engine ran fast or step by step.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(EndToEnd, LogsOfTheSampleReplayEqual) {
  const std::string folder = testing::TempDir() + "kvplan_end_to_end";
  std::filesystem::create_directories(folder);
  const std::string programs = KVPLAN_PROGRAM_DIR;
  const std::string start =
      programs + "/kvplan run " + KVPLAN_SOURCE_DIR + "/traces/samples/chat.kvt --set workload.limit=200 ";
  for (const std::string& sets :
       {std::string("--set memory.pool_tokens=16000"),
        std::string("--set memory.pool_tokens=30000 --set eviction=streaming-llm:sink=5,recent=200"),
        std::string("--set memory.pool_tokens=60000 --set memory.allocator=contiguous:reserve=pow2 "
                    "--set eviction=window:window=64")}) {
    SCOPED_TRACE(sets);
    const std::string fast = folder + "/fast.kve";
    const std::string naive = folder + "/naive.kve";
    const std::string quiet = " >/dev/null 2>&1";
    ASSERT_EQ(run(start + sets + " --events " + fast + quiet), 0);
    ASSERT_EQ(run(start + sets + " --step-by-step --events " + naive + quiet), 0);
    const std::string log = bytes_of(fast);
    EXPECT_GT(log.size(), 1000U);
    EXPECT_TRUE(log == bytes_of(naive));
    EXPECT_EQ(run(programs + "/kvplan-validate replay " + fast + " --backend host" + quiet), 0);
  }
  // Several replicas do not share a log, and nothing is left behind.
  EXPECT_EQ(run(start + "--set fleet.replicas=2 --events " + folder + "/two.kve >/dev/null 2>&1"), 2);
  EXPECT_FALSE(std::filesystem::exists(folder + "/two.kve"));
  std::filesystem::remove_all(folder);
}

}  // namespace
