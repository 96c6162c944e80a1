// Side files: their contents, and every error with its position.
#include "simulator/io/side_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>

#include "tests/unit/formats/stored_at_last.h"
#include "tests/unit/traces/support.h"

namespace kvplan::io {
namespace {

using formats::SideData;
using formats::SideLayer;

struct Said {
  std::string shape;
  std::vector<float> numbers;
  std::string dtype{"F32"};
};
using Tensors = std::map<std::string, Said>;

const std::string kMetadata = R"("__metadata__":{"format":"kvplan side 1","model_digest":"abc"})";

std::string file_of(const Tensors& tensors, const std::string& metadata = kMetadata) {
  std::string header = "{" + metadata;
  std::string data;
  for (const auto& [name, said] : tensors) {
    const std::size_t begin = data.size();
    for (const float number : said.numbers)
      data.append(reinterpret_cast<const char*>(&number), sizeof(number));
    header += ",\"" + name + "\":{\"dtype\":\"" + said.dtype + "\",\"shape\":" + said.shape +
              ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
  }
  header += "}";
  std::string out(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(out.data(), &length, sizeof(length));
  return out + header + data;
}

Result<SideData> parsed(const std::string& bytes) {
  return parse_side_file(*random_access_of(bytes, "some.side"));
}
Result<SideData> parsed(const Tensors& tensors) {
  return parsed(file_of(tensors));
}

const Tensors kBases{{"layers.2.keys.basis", {"[2,1,2]", {0.6F, 0.8F, 1, 0}}},
                     {"layers.2.values.basis", {"[1,2,3]", {0, 1, 0, 0, 0, -1}}}};
const Tensors kTables{{"layers.0.keys.low", {"[2,2]", {-1, -2, -3, 0}}},
                      {"layers.0.keys.high", {"[2,2]", {1, 2, 3, 0}}},
                      {"layers.0.keys.table", {"[4]", {-1, -0.5F, 0.5F, 1}}},
                      {"layers.0.values.table", {"[4]", {-1, 0, 0.25F, 1}}}};

TEST(SideFile, HoldsWhatItsTensorsSay) {
  const SideData bases = parsed(kBases).value();
  EXPECT_EQ(bases.file, "some.side");
  EXPECT_EQ(bases.model_digest, "abc");
  ASSERT_EQ(bases.layers.size(), 1U);
  const SideLayer& layer = bases.layers.at(2);
  ASSERT_EQ(layer.bases[0].size(), 2U);
  EXPECT_NEAR(layer.bases[0][0].at(0, 0), 0.6, 1e-7);
  EXPECT_EQ(layer.bases[0][1].data, (std::vector<double>{1, 0}));
  EXPECT_EQ(layer.bases[1][0].data, (std::vector<double>{0, 1, 0, 0, 0, -1}));
  const SideData tables = parsed(kTables).value();
  const SideLayer& first = tables.layers.at(0);
  EXPECT_EQ(first.key_thresholds.at(1).at(0).low, -3);
  EXPECT_EQ(first.key_thresholds.at(1).at(0).high, 3);
  EXPECT_EQ(first.tables[1], (std::vector<double>{-1, 0, 0.25, 1}));
  EXPECT_EQ(parsed(file_of(kTables, R"("__metadata__":{"format":"kvplan side 1"})")).value().model_digest,
            "");
}

TEST(SideFile, BasesBecomeAsExactAsDoubles) {
  const SideData found = parsed(kBases).value();
  const auto& basis = found.layers.at(2).bases[0][0];
  EXPECT_NEAR(basis.at(0, 0) * basis.at(0, 0) + basis.at(0, 1) * basis.at(0, 1), 1, 1e-15);
}

TEST(SideFile, EveryTypeOfNumber) {
  // 0.5 and 1, -2 and 0.25 as binary16, bfloat16 and doubles.
  const auto of = [](const std::string& dtype, const std::string& raw) {
    const std::string header = "{" + kMetadata + R"(,"layers.0.keys.table":{"dtype":")" + dtype +
                               R"(","shape":[4],"data_offsets":[0,)" + std::to_string(raw.size()) + "]}}";
    std::string out(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(out.data(), &length, sizeof(length));
    return parsed(out + header + raw).value().layers.at(0).tables[0];
  };
  const std::vector<double> expected{-2, 0.25, 0.5, 1};
  EXPECT_EQ(of("F16", std::string("\x00\xC0\x00\x34\x00\x38\x00\x3C", 8)), expected);
  EXPECT_EQ(of("BF16", std::string("\x00\xC0\x80\x3E\x00\x3F\x80\x3F", 8)), expected);
  std::string doubles;
  for (const double number : expected) doubles.append(reinterpret_cast<const char*>(&number), sizeof(number));
  EXPECT_EQ(of("F64", doubles), expected);
}

TEST(SideFile, WhatIsRefused) {
  const auto refused = [](const std::string& bytes, const std::vector<std::string>& words) {
    const auto found = parsed(bytes);
    ASSERT_FALSE(found.ok()) << words.front();
    const std::string text = found.error().to_string();
    EXPECT_EQ(found.error().file, "some.side") << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  const auto with = [](Tensors tensors, const std::string& name, const Said& said) {
    tensors[name] = said;
    return file_of(tensors);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  refused("", {"length of the header"});
  refused(std::string(8, '\xFF') + "{}", {"at most 2 bytes at byte 8"});
  refused(file_of(kTables, R"("x":)"), {"JSON"});
  refused(file_of(kTables, R"("layers.1.keys.table":{})"), {"__metadata__", "is missing"});
  refused(file_of(kTables, R"("__metadata__":{"format":"other"})"), {"kvplan side 1"});
  refused(file_of({}), {"holds no layer"});
  refused(with(kTables, "layers.0.keys.scale", {"[1]", {1}}),
          {"layers.0.keys.scale", "is not a tensor of a side file"});
  refused(with(kTables, "layer.0.keys.low", {"[1]", {1}}), {"expected layers.N.NAME"});
  refused(with(kTables, "layers.4096.keys.low", {"[1,1]", {1}}), {"expected layers.N.NAME"});
  refused(file_of(kTables,
                  kMetadata + R"(,"layers.0.keys.table":{"dtype":"F32","shape":[4],"data_offsets":[32,48]})"),
          {"layers.0.keys.table", "stands twice"});
  refused(with(kTables, "layers.00.keys.low", {"[1,1]", {1}}), {"expected layers.N.NAME"});
  refused(file_of(kTables,
                  kMetadata + R"(,"layers.5.keys.table":{"dtype":"F32","shape":[4],"data_offsets":[32,48]})"),
          {"expected tensors that do not overlap"});
  refused(with(kTables, "layers.0.keys.low", {"[2,2]", {-1, nan, -3, 0}}),
          {"layers.0.keys.low", "finite numbers", "element 1", "byte"});
  refused(with(kBases, "layers.2.keys.basis", {"[2,1,2]", {0.6F, 0.8F, infinite, 0}}), {"element 2"});
  refused(with(kTables, "layers.0.keys.low", {"[2,3]", {-1, -2, -3, 0}}), {"expected 24 bytes", "found 16"});
  refused(with(kTables, "layers.0.keys.low", {"[]", {-1, -2, -3, 0}}), {"expected 4 bytes"});
  refused(with(kTables, "layers.0.keys.low", {"[0,2]", {}}), {"sizes of at least 1"});
  refused(with(kTables, "layers.0.keys.low", {"[1000000,1000000]", {}}), {"2^28"});
  refused(with(kTables, "layers.0.keys.low", {"[2,2]", {-1, -2, -3, 0}, "I32"}),
          {"expected F64, F32, F16 or BF16"});
  refused(with(kTables, "layers.0.keys.low", {"[4]", {-1, -2, -3, 0}}), {"two dimensions"});
  refused(with(kTables, "layers.0.keys.high", {"[1,4]", {1, 2, 3, 0}}), {"the shape of layers.0.keys.low"});
  refused(with(kTables, "layers.0.keys.high", {"[2,2]", {1, 2, -4, 0}}), {"smaller one at element 2"});
  refused(with(kTables, "layers.1.keys.low", {"[1,1]", {1}}), {"layers.1", "both keys.low and keys.high"});
  refused(with(kTables, "layers.0.keys.table", {"[3]", {-1, 0, 1}}), {"one dimension of 4, 8"});
  refused(with(kTables, "layers.0.keys.table", {"[4]", {-1, 0, 0, 1}}), {"ascending", "element 2"});
  refused(with(kBases, "layers.2.keys.basis", {"[2,2]", {1, 0, 0, 1}}), {"three dimensions"});
  refused(with(kBases, "layers.2.keys.basis", {"[1,2,1]", {1, 1}}), {"at most as many vectors as channels"});
  refused(with(kBases, "layers.2.keys.basis", {"[1,2,2]", {1, 0, 0.6F, 0.8F}}),
          {"orthonormal", "vectors 0 and 1 of group 0"});
  refused(with(kBases, "layers.2.keys.basis", {"[2,1,2]", {1, 0, 0.5F, 0}}), {"vectors 0 and 0 of group 1"});
  refused(file_of(kBases) + "x", {"expected the end of the file at byte", "found 1 more"});
  const std::string whole = file_of(kBases);
  for (std::size_t size = 0; size + 1 < whole.size(); size += 3)
    EXPECT_FALSE(parsed(whole.substr(0, size)).ok()) << size;
}

TEST(SideFile, CommandsReadIt) {
  const traces::testing::TemporaryFolder folder;
  const std::string sample = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva";
  Said whole{"[1,128,128]", std::vector<float>(128 * 128)};
  for (std::size_t i = 0; i < 128; ++i) whole.numbers[i * 128 + i] = 1;
  Said half{"[1,64,128]", {whole.numbers.begin(), whole.numbers.begin() + 64 * 128}};
  traces::testing::write_file(folder.file("x.side"),
                              file_of({{"layers.3.keys.basis", half}, {"layers.3.values.basis", whole}},
                                      R"("__metadata__":{"format":"kvplan side 1"})"));
  const std::string format = " --format lorc:file=" + folder.file("x.side");
  const auto run = [&](const std::string& arguments) { return traces::testing::run_kvplan(arguments); };
  const auto found = run("format " + sample + " --prefill 64 --layer 3 --json -" + format);
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_NE(found.out.find("\"rank\":64"), std::string::npos) << "the file's ranks are the parameters";
  EXPECT_NE(found.out.find("\"rank_v\":128"), std::string::npos);
  const auto other = run("format " + sample + " --prefill 64 --layer 2" + format);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("does not hold this layer"), std::string::npos) << other.err;
  EXPECT_EQ(run("frontier " + sample +
                " --policies full --layer 3 --budgets 8 --formats 'lorc:file=" + folder.file("x.side") + "'")
                .exit_code,
            0);
  const auto missing = run("format " + sample + " --prefill 64 --format palu:file=nothing");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("palu:file"), std::string::npos) << missing.err;
  const auto same =
      run("format " + sample + " --prefill 64 --layer 3 --json " + folder.file("x.side") + format);
  EXPECT_EQ(same.exit_code, 2) << "an input is not written over";
}

/// Bases that consist of axes: groups x rank x channels.
Said axes(std::size_t groups, std::size_t rank, std::size_t channels) {
  Said out{"[" + std::to_string(groups) + "," + std::to_string(rank) + "," + std::to_string(channels) + "]",
           std::vector<float>(groups * rank * channels)};
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t r = 0; r < rank; ++r) out.numbers[(g * rank + r) * channels + r] = 1;
  return out;
}

/// A file next to its scenario: the bytes that a run stores at the end are those that `kvplan bytes` counts for as many
/// tokens.
TEST(SideFile, RunsReadIt) {
  const traces::testing::TemporaryFolder folder;
  const auto run = [&](const std::string& arguments) { return traces::testing::run_kvplan(arguments); };
  traces::testing::write_file(
      folder.file("config.json"),
      R"({"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":8,"num_key_value_heads":4})");
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,50,12\n");
  const std::string no_digest = R"("__metadata__":{"format":"kvplan side 1"})";
  traces::testing::write_file(folder.file("x.side"), file_of({{"layers.0.keys.basis", axes(2, 5, 16)},
                                                              {"layers.0.values.basis", axes(2, 3, 16)},
                                                              {"layers.1.keys.basis", axes(2, 16, 16)},
                                                              {"layers.1.values.basis", axes(2, 1, 16)}},
                                                             no_digest));
  Tensors tables;
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    tables[layer + "keys.low"] = {"[4,8]", std::vector<float>(32, -1)};
    tables[layer + "keys.high"] = {"[4,8]", std::vector<float>(32, 1)};
    for (const char* side : {"keys.table", "values.table"})
      tables[layer + side] = {"[4]", {-1, -0.5F, 0.5F, 1}};
  }
  traces::testing::write_file(folder.file("y.side"), file_of(tables, no_digest));
  const auto scenario = [](const std::string& format) {
    return R"({"model": "config.json", "format": ")" + format +
           R"(", "workload": {"trace": "t.csv"}, "memory": {"pool_tokens": 4000}, )" +
           R"("latency": "affine:base_ns=1000,token_ns=1,context_ns=0"})";
  };
  const std::string config = folder.file("config.json");
  for (const auto& [named, found] : std::vector<std::pair<std::string, std::string>>{
           {"palu:file=x.side,group=2", "palu:file=" + folder.file("x.side") + ",group=2"},
           {"kvquant:file=y.side,outliers=0.1", "kvquant:outliers=0.1,file=" + folder.file("y.side")}}) {
    SCOPED_TRACE(named);
    traces::testing::write_file(folder.file("s.json"), scenario(named));
    const std::string out = folder.file("timeline.csv");
    const auto outcome = run("run " + folder.file("s.json") + " --timeline " + out);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto bytes = run("bytes --model " + config + " --tokens 60 --prompt 50 --json - --format " + found);
    ASSERT_EQ(bytes.exit_code, 0) << bytes.err;
    EXPECT_NE(bytes.out.find(
                  "\"total_bytes\": " + std::to_string(test::stored_at_last(test::read_file(out))) + ","),
              std::string::npos)
        << test::stored_at_last(test::read_file(out)) << " in a run, " << bytes.out;
    // The same from another folder, with the file named from there.
    const auto moved = run("convert " + folder.file("s.json") + " " + folder.file("moved.json"));
    EXPECT_EQ(moved.exit_code, 0) << moved.err;
    EXPECT_NE(test::read_file(folder.file("moved.json")).find(".side"), std::string::npos);
    EXPECT_EQ(run("run " + folder.file("moved.json")).exit_code, 0);
    const std::string again = folder.file("again.csv");
    EXPECT_EQ(
        run("run " + folder.file("s.json") + " --set format=" + found + " --timeline " + again).exit_code, 0);
    EXPECT_EQ(test::read_file(again), test::read_file(out));
  }
  const auto over = run("run " + folder.file("s.json") + " --json " + folder.file("y.side"));
  EXPECT_EQ(over.exit_code, 2) << "an input is not written over";
  traces::testing::write_file(folder.file("s.json"), scenario("palu:file=nothing.side"));
  const auto missing = run("run " + folder.file("s.json"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err, "kvplan: format: palu:file: " + folder.file("nothing.side") +
                             ": cannot open: No such file or directory\n");
  traces::testing::write_file(folder.file("s.json"), scenario("palu:file=x.side"));
  const auto other = run("run " + folder.file("s.json"));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.err,
            "kvplan: " + folder.file("x.side") +
                ": format: palu:file: layer 0: expected bases of keys for 1 groups of 32 channels, "
                "found 2 of 16\n");
  const auto pool =
      run("pool --model llama-3-8b --device h100-sxm --format palu:file=" + folder.file("x.side"));
  EXPECT_EQ(pool.exit_code, 2) << "the file is read there, too";
  EXPECT_NE(pool.err.find("expected bases of keys for 2 groups of 512 channels"), std::string::npos)
      << pool.err;
}

/// On recordings, every token of every layer is counted as it is encoded: the bytes are those that a run of the
/// recording's model reserves.
TEST(SideFile, FrontiersCountWhatRunsStore) {
  const traces::testing::TemporaryFolder folder;
  const std::string sample = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva";
  Tensors bases;
  std::int64_t token_bytes = 0;
  for (std::size_t layer = 0; layer < 6; ++layer) {
    const std::size_t rank = 16 * (layer + 1);
    bases["layers." + std::to_string(layer) + ".keys.basis"] = axes(1, rank, 128);
    bases["layers." + std::to_string(layer) + ".values.basis"] = axes(1, 24, 128);
    token_bytes += static_cast<std::int64_t>(2 * (rank + 24));
  }
  traces::testing::write_file(folder.file("x.side"),
                              file_of(bases, R"("__metadata__":{"format":"kvplan side 1"})"));
  const std::string format = "lorc:file=" + folder.file("x.side");
  const auto points = traces::testing::run_kvplan(
      "frontier " + sample + " --policies full --budgets 8 --json - --formats " + format);
  ASSERT_EQ(points.exit_code, 0) << points.err;
  EXPECT_NE(points.out.find("\"bytes_per_token\": " + std::to_string(token_bytes) + ","), std::string::npos)
      << points.out;
  const auto run = traces::testing::run_kvplan(
      "run " + std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/chat.kvt --json - --set workload.limit=2 " +
      "--set memory.pool_tokens=1000 --set latency=affine:base_ns=1 --set workload.attention=" + sample +
      " --set format=" + format);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("\"capacity_bytes\": " + std::to_string(1000 * token_bytes) + ","),
            std::string::npos)
      << run.out;
}

/// A sweep continues only with the file with which it began.
TEST(SideFile, SweepsKnowItsContent) {
  const traces::testing::TemporaryFolder folder;
  const auto write = [&](std::size_t rank) {
    traces::testing::write_file(folder.file("x.side"), file_of({{"layers.0.keys.basis", axes(1, rank, 16)},
                                                                {"layers.0.values.basis", axes(1, 16, 16)}}));
  };
  write(16);
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,50,12\n");
  traces::testing::write_file(
      folder.file("config.json"),
      R"({"num_hidden_layers":1,"hidden_size":16,"num_attention_heads":2,"num_key_value_heads":2})");
  traces::testing::write_file(
      folder.file("s.json"),
      R"({"model": "config.json", "format": "lorc:file=x.side", "memory": {"pool_tokens": 400},)"
      R"("workload": {"trace": "t.csv"}, "latency": "affine:base_ns=1000,token_ns=1,context_ns=0"})");
  const std::string sweep =
      "sweep " + folder.file("s.json") + " --vary 'engine.max_seqs=1;2' --out " + folder.file("db");
  const auto first = traces::testing::run_kvplan(sweep);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(traces::testing::run_kvplan(sweep + " --resume").exit_code, 0);
  write(15);
  const auto other = traces::testing::run_kvplan(sweep + " --resume");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find(folder.file("x.side") + " has different contents"), std::string::npos)
      << other.err;
}

}  // namespace
}  // namespace kvplan::io
