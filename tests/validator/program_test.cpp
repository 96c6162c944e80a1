// kvplan-validate from the user's side: exit codes, the JSON of the report, one line for each error.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "simulator/io/calibration.h"
#include "tests/validator/hand_log.h"
#include "tests/validator/run_log.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code{-1};
  std::string out, err;
};

class Program : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("kvplan_validate_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    const std::string command = std::string(KVPLAN_PROGRAM_DIR) + "/kvplan-validate " + arguments + " >" +
                                at("out") + " 2>" + at("err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(at("out")), text_of(at("err"))};
  }
  static std::string log_bytes() {
    return test::log_of_run(test::random_trace(4), test::small_cases().front(), test::Stepping::kFast);
  }

  fs::path folder_;
};

TEST_F(Program, ArgumentsThatNothingTakesAreNamedInOrder) {
  EXPECT_EQ(run("replay x --one 5 --two").err,
            "kvplan-validate: The following arguments were not expected: --one 5 --two (see --help)\n");
}

/// Standard error still receives a line, and the report is not mixed with the text.
TEST_F(Program, AnOptionThatIsGivenTwiceSaysSo) {
  const Outcome outcome = run("replay l.kve --json a --json b");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "kvplan-validate: --json: expected it once, found it 2 times (see --help)\n");
}

/// A device in a file may stand wherever a device is said.
TEST_F(Program, ADeviceOfAFileIsReadInSettingsToo) {
  put("d.json", R"({"name": "x", "total_bytes": 85520809984, "bandwidth": 3.35e12, "bf16_flops": 989e12})");
  const std::string start = "run " KVPLAN_SOURCE_DIR
                            "/traces/samples/chat.kvt --backend fake --seconds 0 --set workload.limit=2 "
                            "--set memory.pool_tokens=4000 --set deployment.device=";
  EXPECT_EQ(run(start + at("d.json")).code, 0) << run(start + at("d.json")).err;
  const Outcome none = run(start + at("none.json"));
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err, "kvplan-validate: " + at("none.json") + ": cannot open: No such file or directory\n");
}

TEST_F(Program, ClosedStreamsAreNotTakenForTheReport) {
  put("a.kve", log_bytes());
  const std::string command =
      std::string(KVPLAN_PROGRAM_DIR) + "/kvplan-validate replay " + at("a.kve") + " --json ";
  ASSERT_EQ(WEXITSTATUS(std::system((command + at("whole") + " >" + at("out")).c_str())), 0);
  EXPECT_EQ(WEXITSTATUS(std::system((command + at("r") + " <&- >&- 2>&-").c_str())), 2);
  EXPECT_EQ(text_of(at("r")), text_of(at("whole")));
}

bool one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

TEST_F(Program, AnEqualLog) {
  put("a.kve", log_bytes());
  for (const char* backend : {"host", "fake"}) {
    const Outcome outcome = run("replay " + at("a.kve") + " --json - --backend " + backend);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const char* key : {"\"events\": ", "\"byte_mismatches\": 0", "\"quantities\": [",
                            "\"predicted\": ", "\"measured\": ", "\"unit\": \"bytes\"",
                            "\"verdict\": \"equal\"", "\"device\": \""})
      EXPECT_NE(outcome.out.find(key), std::string::npos) << key;
    EXPECT_EQ(outcome.out.front(), '{');
  }
  const Outcome text = run("replay " + at("a.kve") + " --json " + at("report.json"));
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("verdict               equal"), std::string::npos) << text.out;
  EXPECT_EQ(text_of(at("report.json")).front(), '{');
  EXPECT_FALSE(fs::exists(at("report.json.part")));
}

TEST_F(Program, ALogThatDiffers) {
  auto log = test::read_log(log_bytes());
  for (auto& record : log.records)
    if (record.claims.has_totals) --record.claims.totals[1];
  put("a.kve", test::write_log(log));
  const Outcome outcome = run("replay " + at("a.kve") + " --json -");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("\"verdict\": \"bytes differ\""), std::string::npos);
  EXPECT_NE(outcome.out.find("live claims "), std::string::npos);
}

TEST_F(Program, ALogOfSeveralReplicasSaysWhichDiffers) {
  const auto made = test::hand_made_fleet_log();  // Clang 14 captures no structured bindings
  const auto& header = made.first;
  const auto& records = made.second;
  put("a.kve", test::write_log({header, records}));
  for (const char* backend : {"host", "fake"}) {
    const Outcome outcome = run("replay " + at("a.kve") + " --json - --backend " + backend);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const char* key : {"\"verdict\": \"equal\"", "\"replicas\": [", "\"replicas[1].peak_live_bytes\"",
                            "one memory for each of 2"})
      EXPECT_NE(outcome.out.find(key), std::string::npos) << key;
  }
  const auto verdict_with = [&](auto change) {
    auto changed = records;
    for (auto& record : changed) change(record);
    put("b.kve", test::write_log({header, changed}));
    const Outcome outcome = run("replay " + at("b.kve"));
    EXPECT_EQ(outcome.code, 1);
    const std::string name = "verdict               ";
    const std::size_t begin = outcome.out.find(name) + name.size();
    return outcome.out.substr(begin, outcome.out.find('\n', begin) - begin);
  };
  using event_log::Record;
  const auto of = [](std::int32_t replica) {
    return [replica](Record& record) {
      const bool own = !std::holds_alternative<event_log::TickEnd>(record.fact);
      if (own && record.claims.has_totals && record.replica == replica) ++record.claims.totals[1];
    };
  };
  EXPECT_EQ(verdict_with(of(0)), "bytes of replica 0 differ");
  EXPECT_EQ(verdict_with(of(1)), "bytes of replica 1 differ");
  EXPECT_EQ(verdict_with([](Record& record) {
              if (record.claims.has_totals) ++record.claims.totals[1];
            }),
            "bytes of replicas 0, 1 differ");
  EXPECT_EQ(verdict_with([](Record& record) {
              if (std::holds_alternative<event_log::TickEnd>(record.fact)) ++record.claims.totals[1];
            }),
            "bytes over all replicas differ");
  EXPECT_EQ(verdict_with([](Record& record) {
              if (record.replica == 1 && !record.claims.places.empty()) record.claims.places = {7};
            }),
            "claims of replica 1 differ");
  EXPECT_EQ(verdict_with([](Record& record) { record.replica = 0; }), "events contradict each other");
}

TEST_F(Program, BadInputIsOneLineAndExitCodeTwo) {
  const std::string bytes = log_bytes();
  put("cut.kve", bytes.substr(0, bytes.size() / 2));
  put("text.kve", "request,arrival\n1,2\n");
  put("a.kve", bytes);
  const std::string nowhere = at("no/such/folder/out.json");
  for (const std::string& arguments :
       {"replay " + at("cut.kve"), "replay " + at("text.kve"), "replay " + at("none.kve"), "replay " + at(""),
        "replay " + at("a.kve") + " --backend gpu", std::string("replay"), std::string(""),
        std::string("calibrate device.json"), "replay " + at("a.kve") + " --json " + nowhere,
        "replay " + at("a.kve") + " --full-scan-every -1"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << ": " << outcome.err;
    EXPECT_TRUE(one_line(outcome.err)) << arguments << ": " << outcome.err;
    EXPECT_EQ(outcome.err.rfind("kvplan-validate: ", 0), 0U) << outcome.err;
  }
}

TEST_F(Program, ADeviceIsWrittenAndNeverReplaced) {
  // A link represents the device, so that an error replaces only the link.
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  put("a.kve", log_bytes());
  fs::create_symlink("/dev/full", at("full"));
  const Outcome outcome = run("replay " + at("a.kve") + " --json " + at("full"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(one_line(outcome.err)) << outcome.err;
  EXPECT_TRUE(fs::is_symlink(at("full")));
  EXPECT_TRUE(outcome.out.empty());
}

TEST_F(Program, AMachineWithoutADeviceSaysSo) {
  put("a.kve", log_bytes());
  const Outcome outcome = run("replay " + at("a.kve") + " --backend cuda");
  if (outcome.code == 0) GTEST_SKIP() << "there is a device here";
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(one_line(outcome.err)) << outcome.err;
  EXPECT_NE(outcome.err.find("CUDA"), std::string::npos);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Program, AProbeMeasuresOrSaysThatThereIsNoDevice) {
  const Outcome outcome = run("calibrate --quick -o " + at("device.json"));
  if (outcome.code == 0) {
    EXPECT_TRUE(io::parse_calibration(text_of(at("device.json")), "device.json").ok());
    EXPECT_NE(outcome.out.find("kernels "), std::string::npos) << outcome.out;
    return;
  }
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(one_line(outcome.err)) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("kvplan-validate: no CUDA device to measure: ", 0), 0U) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(at("device.json")));
}

TEST_F(Program, HelpAndVersion) {
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_NE(run("replay --help").out.find("--backend"), std::string::npos);
  EXPECT_NE(run("calibrate --help").out.find("--quick"), std::string::npos);
  EXPECT_EQ(run("--version").out.rfind("kvplan-validate ", 0), 0U);
}

}  // namespace
}  // namespace kvplan
