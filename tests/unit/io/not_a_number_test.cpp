// NaN in every form of recording, given to policies that read it: each results in an error that names the position, or
// cannot occur. So policies never get NaN (attention/selection.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "proto/attention.pb.h"
#include "simulator/attention/evaluation.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/tensor_json.h"
#include "tests/unit/io/kva2_samples.h"
#include "tests/unit/io/kva_samples.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::Part;
using attention::Recording;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Opened = Result<std::shared_ptr<const Recording>>;

Opened opened(const std::string& bytes) {
  return open_kva(random_access_of(bytes, "x.kva"));
}

/// The error of a policy on the whole recording; empty: there was none.
std::string error_of(const Opened& recording, const std::string& policy) {
  if (!recording.ok()) return recording.error().to_string();
  const auto done =
      evaluate(*recording.value(), {.policy = attention::parse_policy(policy).value(), .prompt = 1},
               [](const attention::LayerReplay&) -> Status { return Done{}; });
  return done.ok() ? "" : done.error().to_string();
}

void expect_refused(const Opened& recording, const std::string& error,
                    const std::vector<std::string>& policies) {
  for (const std::string& policy : policies)
    EXPECT_NE(error_of(recording, policy).find(error), std::string::npos)
        << policy << ": " << error_of(recording, policy);
}

const std::vector<std::string>& policies_of_rows() {
  static const std::vector<std::string> kPolicies{"full",
                                                  "window:window=1",
                                                  "h2o:hh=1,recent=1",
                                                  "tova:budget=1",
                                                  "snapkv:window=1,capacity=1",
                                                  "oracle-exact:budget=1",
                                                  "random:budget=1",
                                                  "seed-lfu:budget=1",
                                                  "keyformer:kv_percent=50"};
  return kPolicies;
}

TEST(NotANumber, InRows) {
  for (const Element element : {Element::kF64, Element::kF32, Element::kF16}) {
    std::string bytes;
    attention::RecordingInfo info;
    info.element = element;
    info.sequences.push_back({"", 3, 0});
    auto writer = KvaWriter::make(info, Codec::kStored, into(bytes));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value()->dense_rows({}, 0, std::vector<double>{1, .5, .5, .5, kNan, .25}).ok());
    ASSERT_TRUE(writer.value()->finish().ok());
    expect_refused(opened(bytes), "row 2: expected weights from 0 to 1, found nan for token 1",
                   policies_of_rows());
  }
}

TEST(NotANumber, InTopRows) {
  for (const bool in_rest : {false, true}) {
    std::string bytes;
    attention::RecordingInfo info;
    info.form = attention::RecordedForm::kTopEntries;
    info.sequences.push_back({"", 3, 0});
    auto writer = KvaWriter::make(info, Codec::kStored, into(bytes));
    ASSERT_TRUE(writer.ok());
    std::vector<TopRow> rows{{{0}, {1}, 0}, {{1}, {.5}, .5}, {{1}, {.5}, .5}};
    (in_rest ? rows[2].rest : rows[2].weights[0]) = kNan;
    ASSERT_TRUE(writer.value()->top_rows({}, 0, rows).ok());
    ASSERT_TRUE(writer.value()->finish().ok());
    expect_refused(opened(bytes), "row 2: expected weights from 0 to 1, found nan", policies_of_rows());
  }
}

TEST(NotANumber, InTensors) {
  for (const Element element : {Element::kF32, Element::kF16}) {
    const TensorSample good = tensor_sample(1, 6, element);
    EXPECT_EQ(error_of(opened(kva_of(good, Codec::kStored)), "full"), "");
    for (const auto part : {&TensorSample::queries, &TensorSample::keys, &TensorSample::values}) {
      TensorSample bad = good;
      (bad.*part)[1][7] = std::numeric_limits<float>::quiet_NaN();
      expect_refused(opened(kva_of(bad, Codec::kStored)), "expected finite numbers",
                     {"full", "tova:budget=2", "knorm:budget=2", "lagkv:budget=2", "r-kv:budget=2,window=1"});
    }
  }
}

/// The file in which the first chunk of a part begins with bits that are NaN in every type; other frames are unchanged.
std::string with_nan(const std::string& bytes, Part part, std::size_t at) {
  std::string out = bytes;
  for (auto offset = static_cast<std::size_t>(8); offset + 16 <= out.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, out.data() + offset + 8, 8);
    v1::AttentionChunk chunk;
    if (out.substr(offset, 4) == "CHNK" && chunk.ParseFromString(out.substr(offset + 16, length)) &&
        static_cast<Part>(chunk.part()) == part) {
      std::string data = chunk.data();
      std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(at), 8, '\xFF');
      chunk.set_data(data);
      const std::string changed = frame(FrameKind::kChunk, chunk.SerializeAsString());
      EXPECT_EQ(changed.size(), length + 16);
      return out.replace(offset, changed.size(), changed);
    }
    offset += 16 + length;
  }
  ADD_FAILURE() << "no chunk of " << part_name(part);
  return out;
}

/// Every part of a file of version 2 by which a policy can decide. The writer refuses such numbers, except in rows, so
/// the test puts them into a written file.
TEST(NotANumber, InPartsOfVersionTwo) {
  Random random(1, "parts");
  FullSample sample;
  sample.info = everything(1);
  sample.info.sequences = {{"s", 6, 2}};
  fill_sample(sample, random);
  const std::string good = kva2_of(sample, Codec::kStored, 6);
  const std::vector<std::string> policies{"full", "h2o:hh=1,recent=1", "expected-attention:budget=2",
                                          "critical-kv:window=1,capacity=2", "r-kv:window=1,budget=2"};
  for (const std::string& policy : policies) EXPECT_EQ(error_of(opened(good), policy), "") << policy;
  expect_refused(opened(with_nan(good, Part::kRows, 12)), "expected weights from 0 to 1, found -nan",
                 policies);
  for (const Part part :
       {Part::kQueries, Part::kKeys, Part::kValues, Part::kValueNorms, Part::kOutputWeights}) {
    SCOPED_TRACE(part_name(part));
    expect_refused(opened(with_nan(good, part, 8)), "expected finite numbers", policies);
  }
}

/// JSON has no NaN, and a number that is too large for float64 is an error.
TEST(NotANumber, InJson) {
  for (const std::string weight : {"NaN", "nan", "-nan", "null", "Infinity", "1e999", "0/0"}) {
    const std::string text = R"({"query_heads": 1, "T": 2, "rows": [[[1.0], [0.5, )" + weight + "]]]}";
    const std::string error = error_of(parse_attention_json(text, "x.json"), "h2o:hh=1,recent=1");
    EXPECT_EQ(error.substr(0, 6), "x.json") << weight << ": " << error;
  }
}

TEST(NotANumber, InTensorsBesideJson) {
  const std::string text = R"({"query_heads": 1, "kv_heads": 1, "head_dim": 2, "T": 3,
                               "files": {"Q": "q", "K": "k", "V": "v"}})";
  for (const std::string bad : {"", "q", "k", "v"}) {
    const auto open = [&](const std::string& path) -> Result<std::shared_ptr<const RandomAccess>> {
      std::vector<float> numbers{1, 2, 3, 4, 5, 6};
      if (path == bad) numbers[3] = std::numeric_limits<float>::quiet_NaN();
      return random_access_of({reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4}, path);
    };
    const Opened recording = parse_tensor_json(text, "x.json", open);
    if (bad.empty()) {
      EXPECT_EQ(error_of(recording, "keydiff:budget=2"), "");
    } else {
      expect_refused(recording, "expected finite numbers", {"keydiff:budget=2"});
    }
  }
}

}  // namespace
}  // namespace kvplan::io
