// The Python package and the C++ code read each other's files with the same results.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "simulator/io/attention_json.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/io/kva_samples.h"

namespace kvplan::io {
namespace {

namespace fs = std::filesystem;
using attention::Element;
using attention::Outcome;

const std::string kRoot = KVPLAN_SOURCE_DIR;
const std::string kPython = KVPLAN_PYTHON3;  // empty: there is no Python

class Python : public testing::Test {
 protected:
  void SetUp() override {
    if (kPython.empty()) GTEST_SKIP() << "no python3 with numpy, pandas and zstandard was found";
    folder_ = fs::temp_directory_path() / ("kvplan_python_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Exit status of Python with the package on its path.
  [[nodiscard]] int python(const std::string& arguments) const {
    return std::system(("PYTHONPATH=" + kRoot + "/traces/python " + kPython + " -B " + arguments).c_str());
  }
  /// The contents of the file as C++ reads them, for every layer.
  static std::string answers(const std::string& file) {
    const auto recording = open_attention(file);
    if (!recording.ok()) return recording.error().to_string();
    const auto& info = recording.value()->info();
    std::string out = info.model + "|" + info.positions + "|" + info.sequences[0].name;
    for (int layer = 0; layer < info.layers; ++layer) {
      for (const char* policy : {"h2o:hh=3,recent=3", "tova:budget=5", "oracle-topk:k=4"}) {
        const Outcome found = attention::run_policy(*recording.value(), policy, 12, layer);
        for (const auto& sets : found.retained)
          for (const auto& set : sets)
            for (const auto p : set) out += " " + std::to_string(p);
        for (const auto& masses : found.mass)
          for (const double mass : masses) out += " " + std::to_string(mass);
        for (const auto& errors : found.error)
          for (const double error : errors) out += " " + std::to_string(error);
      }
    }
    return out;
  }

  fs::path folder_;
};

TEST_F(Python, ReadsOursAndWritesTheSame) {
  const std::vector<std::string> files{row_sample(1, 60, Element::kF64, 0),
                                       row_sample(2, 520, Element::kF64, 0),  // two chunks per head
                                       row_sample(3, 60, Element::kF16, 0),
                                       row_sample(4, 60, Element::kF64, 7),
                                       kva_of(tensor_sample(5, 60, Element::kF32), Codec::kZlib),
                                       kva_of(tensor_sample(6, 60, Element::kF16), Codec::kZstd),
                                       kva_of(tensor_sample(7, 60, Element::kBf16), Codec::kStored)};
  for (std::size_t i = 0; i < files.size(); ++i) {
    SCOPED_TRACE(i);
    const std::string in = path("in.kva");
    const std::string out = path("out.kva");
    std::ofstream(in, std::ios::binary) << files[i];
    ASSERT_EQ(python(kRoot + "/tests/unit/io/rewrite_kva.py " + in + " " + out), 0);
    const std::string expected = answers(in);
    EXPECT_GT(expected.size(), 2000U) << expected;
    EXPECT_EQ(answers(out), expected);
  }
}

TEST_F(Python, ConvertsTheGoldenInputs) {
  for (const std::string input : {"A", "E"}) {
    const std::string json = kRoot + "/tests/golden/policies/inputs/" + input + ".json";
    ASSERT_EQ(python("-m kvplan_traces convert " + json + " " + path("x.kva")), 0);
    EXPECT_EQ(answers(path("x.kva")), answers(json));
    // And in the other direction: the same numbers.
    ASSERT_EQ(python("-m kvplan_traces dump " + path("x.kva") + " >" + path("back.json")), 0);
    EXPECT_EQ(answers(path("back.json")), answers(json));
  }
}

TEST_F(Python, RefusesBrokenFilesAndLeavesNothing) {
  std::string bytes = row_sample(1, 20, Element::kF32, 0);
  bytes[200] = static_cast<char>(bytes[200] ^ 4);  // in the first chunk
  std::ofstream(path("broken.kva"), std::ios::binary) << bytes;
  EXPECT_NE(python("-m kvplan_traces dump " + path("broken.kva") + " >/dev/null 2>&1"), 0);
  std::ofstream(path("bad.json")) << R"({"query_heads": 1, "T": 2, "rows": [[[1], [1]]]})";
  EXPECT_NE(python("-m kvplan_traces convert " + path("bad.json") + " " + path("bad.kva") + " 2>/dev/null"),
            0);
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++left;
  EXPECT_EQ(left, 2U);  // the two inputs
}

}  // namespace
}  // namespace kvplan::io
