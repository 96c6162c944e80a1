// kvplan-validate run, by the program alone: eight configurations of the bundled trace on the host.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "proto/validation.pb.h"
#include "simulator/io/validation_file.h"
#include "tests/support/sanitized.h"

namespace kvplan::validator {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class RunProgram : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "kvplan_run_" + std::to_string(::getpid()) + "_" + std::to_string(GetParam());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

/// Allocator, eviction, format.
struct Configuration {
  const char *allocator, *eviction, *format;
  bool keeps_part;
};
constexpr std::array<Configuration, 8> kConfigurations{{
    {"paged:block_tokens=16", "none", "bf16", false},
    {"paged:block_tokens=16", "none", "fp8", false},
    {"paged:block_tokens=16", "window:window=64,placement=holes", "bf16", true},
    {"paged:block_tokens=8", "streaming-llm:sink=4,recent=60,placement=holes", "fp8", true},
    {"paged:block_tokens=16", "h2o:hh=32,recent=32,placement=compact", "bf16", true},
    {"paged:block_tokens=16", "none", "int8", false},
    {"contiguous:reserve=oracle", "window:window=64,placement=holes", "bf16", true},
    {"contiguous:reserve=pow2", "none", "int4:group=32", false},
}};

/// The limit of time that the kernels of a run share; with a sanitizer they take longer.
const std::string kSeconds = KVPLAN_SHADOW_MEMORY != 0 ? "200" : "20";

TEST_P(RunProgram, AgreesWithWhatWasPredicted) {
  const Configuration& c = kConfigurations.at(static_cast<std::size_t>(GetParam()));
  const std::string base = folder_ + "/out";
  const std::string command =
      std::string(KVPLAN_PROGRAM_DIR) + "/kvplan-validate run " + KVPLAN_SOURCE_DIR +
      "/traces/samples/chat.kvt --set workload.limit=12 --set model=llama-3-70b --set deployment.tp=8 "
      "--set " +
      "memory.pool_tokens=9000 --set latency=affine:base_ns=5000000,token_ns=100,context_ns=1 --set " +
      "memory.allocator=" + c.allocator + " --set eviction=" + c.eviction + " --set format=" + c.format +
      " --quick --steps 3 --seconds " + kSeconds + " --json " + base + ".json --report " + base +
      ".kvv --html " + base + ".html --events " + base + ".kve >" + base + ".txt 2>" + base + ".err";
  ASSERT_EQ(run(command), 0) << command << "\n" << text_of(base + ".err") << text_of(base + ".txt");
  const auto input = traces::Input::open(base + ".kvv");
  ASSERT_TRUE(input.ok());
  const auto read = io::read_validation(*input.value());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const v1::Validation& v = read.value();
  EXPECT_EQ(io::validation_json(v), text_of(base + ".json"));
  EXPECT_EQ(v.verdict(), "equal");
  EXPECT_EQ(v.byte_mismatches(), 0);
  EXPECT_EQ(v.count_mismatches(), 0) << "retained sets";
  EXPECT_GT(v.events(), 100);
  EXPECT_EQ(v.steps_size(), 3);
  EXPECT_GT(v.coverage().time_share(), 0.5);
  ASSERT_GE(v.kernels_size(), 2);
  for (const v1::ValidatedKernel& kernel : v.kernels()) {
    if (kernel.kernel() != "decode-attention") continue;
    EXPECT_EQ(kernel.predicted_calls(), kernel.calls());
    EXPECT_TRUE(kernel.has_median() && kernel.has_p90());
  }
  EXPECT_EQ(v.methods_size() > 0, c.keeps_part);
  for (const v1::ValidatedMethod& method : v.methods())
    EXPECT_NEAR(method.measured(), method.predicted(), 5e-3) << method.call();
  EXPECT_NE(text_of(base + ".txt").find("90th percentile"), std::string::npos);
  const std::string page = text_of(base + ".html");
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("Errors of predicted kernel times"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Configurations, RunProgram,
                         testing::Range(0, static_cast<int>(kConfigurations.size())));

}  // namespace
}  // namespace kvplan::validator
