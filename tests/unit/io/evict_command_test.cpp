// The command line: result keys, exit codes, one line of error, no files left.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "traces/io/output.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/policies/";

struct Ended {
  int code{-1};
  std::string out, err;
};

/// Runs `kvplan ARGUMENTS`; standard error goes through a file of this test's own folder.
class Command : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("kvplan_evict_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] Ended run(const std::string& arguments) const {
    Ended ended;
    const std::string errors = path("stderr");
    FILE* pipe =
        ::popen((std::string(KVPLAN_PROGRAM_DIR) + "/kvplan " + arguments + " 2>" + errors).c_str(), "r");
    std::array<char, 4096> buffer{};
    for (std::size_t got = 1; got > 0;) {
      got = std::fread(buffer.data(), 1, buffer.size(), pipe);
      ended.out.append(buffer.data(), got);
    }
    ended.code = WEXITSTATUS(::pclose(pipe));
    std::ifstream file(errors);
    ended.err.assign(std::istreambuf_iterator<char>(file), {});
    fs::remove(errors);
    return ended;
  }

  fs::path folder_;
};

/// The output of evict is a file that evict can follow.
TEST_F(Command, RecordedSetsAreFollowed) {
  const std::string input = kGolden + "inputs/A.json";
  ASSERT_EQ(run("evict " + input + " --policy tova:budget=6 --prefill 8 --json " + path("sets.json")).code,
            0);
  const Ended followed =
      run("evict " + input + " --policy recorded:file=" + path("sets.json") + " --prefill 8 --json -");
  ASSERT_EQ(followed.code, 0) << followed.err;
  dom::parser parser;
  dom::parser other;
  const dom::element found = parser.parse(followed.out);
  const dom::element expected = other.load(path("sets.json"));
  EXPECT_EQ(std::string_view(found["policy"]), "recorded");
  EXPECT_EQ(simdjson::minify(found["after_prefill"]), simdjson::minify(expected["after_prefill"]));
  EXPECT_EQ(simdjson::minify(found["steps"]), simdjson::minify(expected["steps"]));
  // Files from other sources, and files that do not fit.
  EXPECT_EQ(
      run("evict " + input + " --policy recorded:file=" + kGolden + "h2o_A.json --prefill 8 --json -").code,
      0);
  for (const std::string& wrong :
       {"recorded:file=" + path("sets.json") + " --prefill 9",
        std::string("recorded:file=nowhere.json --prefill 8"), "recorded:file=" + input + " --prefill 8"}) {
    const Ended ended = run("evict " + input + " --json - --policy " + wrong);
    EXPECT_EQ(ended.code, 2) << wrong;
    EXPECT_EQ(ended.out, "") << wrong;
    EXPECT_NE(ended.err.find("recorded:file"), std::string::npos) << ended.err;
  }
}

TEST_F(Command, ExpressionsAsTheShellGivesThem) {
  const std::string input = kGolden + "inputs/A.json";
  const auto steps = [&](const std::string& policy) {
    const Ended ended = run("evict " + input + " --policy " + policy + " --prefill 8 --json -");
    EXPECT_EQ(ended.code, 0) << ended.err;
    dom::parser parser;
    return simdjson::minify(dom::element(parser.parse(ended.out))["steps"]);
  };
  const std::string h2o = steps("h2o:hh=4,recent=4");
  EXPECT_EQ(steps("expr:score=\"accumulated\",budget=8,recent=4"), h2o);    // the shell takes the quotes
  EXPECT_EQ(steps("'expr:score=\"accumulated\",budget=8,recent=4'"), h2o);  // and here it does not
  EXPECT_EQ(steps("'expr:score=max(accumulated,0),budget=8,recent=4'"), h2o);
  const Ended wrong = run("evict " + input + " --policy expr:score=acc,budget=8 --prefill 8 --json -");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("accumulated last windowed age"), std::string::npos) << wrong.err;
}

TEST_F(Command, BudgetPrintsWhatEachLayerRetains) {
  const auto retained = [&](const std::string& policy, int layers) {
    const Ended ended =
        run("budget --policy '" + policy + "' --layers " + std::to_string(layers) + " --prompt 64 --json -");
    EXPECT_EQ(ended.code, 0) << ended.err;
    dom::parser parser;
    return simdjson::minify(dom::element(parser.parse(ended.out))["retained"]);
  };
  EXPECT_EQ(retained("pyramidkv:capacity=12,window=4,beta=2", 4), "[16,14,12,10]");
  EXPECT_EQ(retained("pyramidkv-paper:total=32,beta=2", 2), "[24,8]");  // 32 - 8, 32 / (2 * 2)
  std::ofstream(path("scores.json")) << "[[0.4, 0.1], [0.3, 0.2]]";
  EXPECT_EQ(retained("headkv:scores=" + path("scores.json") + ",capacity=10,window=0,beta=2", 2),
            "[[13,7],[11,9]]");
  EXPECT_EQ(retained("headkv:scores=[[0.4,0.1],[0.3,0.2]],capacity=10,window=0,beta=2", 2),
            "[[13,7],[11,9]]");
  const Ended missing =
      run("budget --policy headkv:scores=nowhere.json,capacity=10 --layers 2 --prompt 9 --json -");
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("headkv:scores"), std::string::npos) << missing.err;
  EXPECT_NE(run("budget --policy pyramidkv:capacity=12,window=4,beta=2 --layers 4 --prompt 64")
                .out.find("52 together"),
            std::string::npos);
}

/// A budget scheme replaces the policy's own number, layer by layer.
TEST_F(Command, BudgetsComposeWithPolicies) {
  const std::string input = kGolden + "inputs/A.json --prefill 8";
  dom::parser one;
  dom::parser two;
  const Ended own = run("evict " + input + " --policy h2o:hh=4,recent=4 --json -");
  const Ended all =
      run("evict " + input + " --policy h2o:hh=9,recent=4 --budget uniform:capacity=8 --json -");
  ASSERT_EQ(all.code, 0) << all.err;
  const dom::element expected = one.parse(own.out);
  const dom::element found = two.parse(all.out);
  EXPECT_EQ(std::string_view(found["budget"]), "uniform:capacity=8");
  const auto layers = dom::array(found["layers"]);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(std::int64_t(layers.at(0)["budget"]), 8);
  for (const char* key : {"after_prefill", "steps", "summary"})
    EXPECT_EQ(simdjson::minify(layers.at(0)[key]), simdjson::minify(expected[key])) << key;
  EXPECT_EQ(std::int64_t(found["summary"]["bytes"]), std::int64_t(expected["summary"]["bytes"]));
  EXPECT_EQ(double(found["summary"]["mean_attended_mass"]),
            double(expected["summary"]["mean_attended_mass"]));
  // A result for one layer has the same keys as a result without a budget.
  const Ended one_layer =
      run("evict " + input + " --policy h2o:hh=9,recent=4 --budget uniform:capacity=8 --layer 0 --json -");
  dom::parser three;
  EXPECT_EQ(simdjson::minify(dom::element(three.parse(one_layer.out))["steps"]),
            simdjson::minify(expected["steps"]));
  const Ended text = run("evict " + input + " --policy tova:budget=5 --all-layers");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("layer        cells"), std::string::npos) << text.out;
  const std::array<std::pair<std::string, std::string>, 5> wrong{{
      {"--policy full --budget uniform:capacity=8",
       "--budget: layer 0: \"full\" has no parameter for the number of tokens"},
      {"--policy h2o:hh=1,recent=9 --budget uniform:capacity=8",
       "--budget: layer 0: expected at least 9 tokens"},
      {"--policy tova:budget=5 --budget uniforn:capacity=8", "did you mean \"uniform\""},
      {"--policy tova:budget=5 --budget headkv:scores=[[1]],capacity=8,window=0", "selects tokens per layer"},
      {"--policy tova:budget=5 --all-layers --layer 0", "--layer"},
  }};
  // What D2O measures if no numbers are given: the only layer is the first one, which it leaves unchanged.
  const Ended measured = run("evict " + input + " --policy h2o:hh=1,recent=1 --budget d2o --json -");
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Ended full = run("evict " + input + " --policy h2o:hh=500,recent=1 --all-layers --json -");
  EXPECT_EQ(simdjson::minify(dom::array(dom::element(one.parse(measured.out))["layers"]).at(0)["steps"]),
            simdjson::minify(dom::array(dom::element(two.parse(full.out))["layers"]).at(0)["steps"]));
  const Ended alone = run("budget --policy d2o --layers 2 --prompt 9 --json -");
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.err.find("d2o:scores: \"measured\" needs recorded attention"), std::string::npos)
      << alone.err;
  for (const auto& [arguments, expected_text] : wrong) {
    const Ended ended = run("evict " + input + " " + arguments + " --json " + path("out.json"));
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_NE(ended.err.find(expected_text), std::string::npos) << ended.err;
    EXPECT_FALSE(fs::exists(path("out.json")));
  }
}

/// Results of methods that move positions state this; tables of heads are given as text or as a file.
TEST_F(Command, WhatAResultIsWithout) {
  const std::string input = "evict " + kGolden + "inputs/A.json --prefill 8 --json - --policy ";
  for (const char* policy : {"streaming-llm:sink=2,recent=4", "finch:window=4"}) {
    const Ended ended = run(input + policy);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_NE(ended.out.find("Positions are frozen"), std::string::npos) << policy;
  }
  EXPECT_EQ(run(input + "window:window=4").out.find("Positions are frozen"), std::string::npos);
  std::ofstream(path("gates.json")) << "[[0.4]]";
  const Ended text = run(input + "duo-attention:gates=[[0.4]],sink=1,recent=3");
  const Ended file = run(input + "duo-attention:gates=" + path("gates.json") + ",sink=1,recent=3");
  ASSERT_EQ(text.code, 0) << text.err;
  dom::parser one;
  dom::parser two;
  EXPECT_EQ(simdjson::minify(dom::element(one.parse(text.out))["steps"]),
            simdjson::minify(dom::element(two.parse(file.out))["steps"]));
  const Ended missing = run(input + "duo-attention:gates=nowhere.json");
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("duo-attention:gates"), std::string::npos) << missing.err;
  const Ended rows = run(input + "knorm:budget=4");
  EXPECT_EQ(rows.code, 2);
  EXPECT_NE(rows.err.find("decides by keys, which this recording does not have"), std::string::npos)
      << rows.err;
}

TEST_F(Command, JsonHasThePromisedKeys) {
  const Ended ended =
      run("evict " + kGolden + "inputs/A.json --policy h2o:hh=4,recent=4 --prefill 8 --json -");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  dom::parser parser;
  const dom::element found = parser.parse(ended.out);
  EXPECT_EQ(std::string_view(found["policy"]), "h2o_real_drop");
  EXPECT_EQ(std::int64_t(found["params"]["hh"]), 4);
  EXPECT_EQ(std::string_view(found["params"]["score_rows"]), "renorm");
  EXPECT_EQ(std::int64_t(found["params"]["group"]), 1);
  EXPECT_EQ(std::int64_t(found["prefill_len"]), 8);
  EXPECT_EQ(simdjson::minify(found["after_prefill"]), "[[0,1,2,3,4,5,6,7]]");
  const auto steps = dom::array(found["steps"]);
  EXPECT_EQ(steps.size(), 56U);
  EXPECT_EQ(std::int64_t(steps.at(3)["t"]), 11);
  EXPECT_EQ(simdjson::minify(steps.at(3)["retained"]), "[[0,1,2,4,8,9,10,11]]");
  const dom::element summary = found["summary"];
  EXPECT_EQ(std::int64_t(summary["bytes"]), 8 * 512 + 8 * 4);
  EXPECT_EQ(std::int64_t(summary["peak_decode_entries"]), 9);
  EXPECT_TRUE(summary["output_error"].is_null());
  EXPECT_EQ(dom::array(summary["assumptions"]).size(), 1U);
}

TEST_F(Command, FileTextAndKvaAgree) {
  const std::string json = kGolden + "inputs/E.json";
  ASSERT_EQ(run("attention convert " + json + " -o " + path("e.kva")).code, 0);
  ASSERT_EQ(run("evict " + json + " --policy tova:budget=5 --prefill 8 --json " + path("a")).code, 0);
  ASSERT_EQ(run("evict " + path("e.kva") + " --policy tova:budget=5 --prefill 8 --json " + path("b")).code,
            0);
  dom::parser one;
  dom::parser two;
  const dom::element a = one.load(path("a"));
  const dom::element b = two.load(path("b"));
  for (const char* key : {"params", "after_prefill", "steps", "summary"})
    EXPECT_EQ(simdjson::minify(a[key]), simdjson::minify(b[key])) << key;
  const Ended text = run("evict " + path("e.kva") + " --policy tova:budget=5 --prefill 8");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("attended mass"), std::string::npos);
  const Ended info = run("attention info " + path("e.kva"));
  EXPECT_NE(info.out.find("dense rows, f64"), std::string::npos);
}

TEST_F(Command, CompressedRecordingsAreReadAsTheyAre) {
  const std::string json = kGolden + "inputs/E.json";
  const std::string command = "attention info ";
  for (const char* name : {"e.kva", "e.kva.gz", "e.kva.zst"})
    ASSERT_EQ(run("attention convert " + json + " -o " + path(name)).code, 0);
  const Ended plain = run(command + path("e.kva"));
  for (const char* name : {"e.kva.gz", "e.kva.zst"}) {
    const Ended packed = run(command + path(name));
    EXPECT_EQ(packed.code, 0) << packed.err;
    EXPECT_EQ(packed.out, plain.out);
  }
  // The rows as text too, and a compression bomb that takes time but no memory.
  const auto pack = [&](const std::string& name, std::string_view text, int times) {
    const auto out = std::move(traces::create_output(path(name))).value();
    for (int i = 0; i < times; ++i) ASSERT_TRUE(out->write(text).ok());
    ASSERT_TRUE(out->commit().ok());
  };
  std::ifstream file(json);
  pack("e.json.gz", std::string(std::istreambuf_iterator<char>(file), {}), 1);
  EXPECT_EQ(run(command + path("e.json.gz")).out, run(command + json).out);
  pack("bomb.zst", std::string(std::size_t{1} << 20, ' '), 300);
  const Ended bomb = run(command + path("bomb.zst"));
  EXPECT_EQ(bomb.code, 2);
  EXPECT_EQ(bomb.err, "kvplan: " + path("bomb.zst") +
                          ": a compressed recording may have at most 256 MiB after decompression: decompress "
                          "this one first\n");
}

TEST_F(Command, ErrorsAreOneLineExitTwoAndLeaveNothing) {
  const std::string input = "evict " + kGolden + "inputs/A.json ";
  std::ofstream(path("broken.json")) << "{\"query_heads\": 1, \"T\": 1, \"rows\": [[[-1]]]}";
  std::ofstream(path("empty.kva"));
  const std::array<std::pair<std::string, std::string>, 12> table{{
      {input + "--policy h2o:hh=4 --prefill 8",
       "--policy: h2o:recent: parameter must be given: Newest tokens, always kept"},
      {input + "--policy h20:hh=4 --prefill 8", "did you mean \"h2o\""},
      {input + "--policy window:window=0 --prefill 8",
       "--policy: window:window: expected a whole number from 1"},
      {input + "--policy full --prefill 0",
       "--prefill: expected a whole number from 1 to 2147483647, found \"0\""},
      {input + "--policy full --prefill 65", "--prefill: expected 1 to 64 for this recording, found 65"},
      {input + "--policy full --prefill 8 --layer 1", "--layer: expected 0 to 0 for this recording, found 1"},
      {input + "--policy full --prefill 8 --sequence -1",
       "--sequence: expected a whole number from 0 to 2147483647, found \"-1\""},
      {input + "--policy full --prefill 8 --sequence 1", "--sequence: expected 0 to 0"},
      {input + "--policy full:group=3 --prefill 8",
       "full:group: expected a divisor of the recording's 1 query heads"},
      {"evict " + path("broken.json") + " --policy full --prefill 1",
       "rows[0][0]: expected weights from 0 to 1"},
      {"evict " + path("empty.kva") + " --policy full --prefill 1", "the file is empty"},
      {"evict " + path("none.kva") + " --policy full --prefill 1", "cannot open: No such file or directory"},
  }};
  for (const auto& [arguments, expected] : table) {
    const Ended ended = run(arguments + " --json " + path("out.json"));
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_NE(ended.err.find(expected), std::string::npos) << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_FALSE(fs::exists(path("out.json")));
  }
  const Ended full = run(input + "--policy full --prefill 8 --json /dev/full");
  EXPECT_EQ(full.code, 2);
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
}

}  // namespace
}  // namespace kvplan
