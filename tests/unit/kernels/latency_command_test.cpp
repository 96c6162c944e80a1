// `kvplan latency`.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/unit/traces/support.h"

namespace kvplan {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

const std::string kHeader =
    "gpu,engine,engine_version,kernel,batch,kv_len,q_heads,kv_heads,head_dim,window,kv_elem_bytes";
const std::string kFa3 = "H200,vllm,0.24.0,vllm_flash_attn_fa3,";

class CliLatency : public ::testing::Test {
 protected:
  Outcome run(const std::string& rows, const std::string& more = "--gpu H200 --engine vllm",
              const std::string& output = "-") {
    write_file(folder_.file("in.csv"), rows);
    return run_kvplan("latency --kernel decode-attention " + more + " --csv " + folder_.file("in.csv") +
                      " --out " + (output == "-" ? output : folder_.file(output)));
  }
  /// The error line, without the folder; no file may have been written.
  std::string error(const std::string& rows, const std::string& more = "--gpu H200 --engine vllm") {
    const Outcome outcome = run(rows, more, "out.csv");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(folder_.listing(), "in.csv");
    std::string text = outcome.err;
    for (std::size_t at = text.find(folder_.path()); at != std::string::npos; at = text.find(folder_.path()))
      text.erase(at, folder_.path().size() + 1);
    return text;
  }
  TemporaryFolder folder_;
};

TEST_F(CliLatency, RowsKeepTheirOrderAndGetTimes) {
  const Outcome outcome =
      run(kHeader + "\n" + kFa3 + "32,128,64,4,128,0,2\r\n" + kFa3 + "32,192,64,4,128,0,2\n\n" + kFa3 +
          "32,128,64,4,128,0,1\n" + kFa3 + "32,2,64,4,128,0,2\n");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const std::string expected = kHeader + ",predicted_us,source\n" + kFa3 +
                               "32,128,64,4,128,0,2,13.13,table\n" + kFa3 +
                               "32,192,64,4,128,0,2,14.02,interpolated\n" + kFa3 +
                               "32,128,64,4,128,0,1,16.25,table\n" + kFa3 + "32,2,64,4,128,0,2,";
  EXPECT_EQ(outcome.out.substr(0, expected.size()), expected);
  EXPECT_TRUE(outcome.out.ends_with(",extrapolated\n"));
}

TEST_F(CliLatency, SpecNamesAreAliasesAndFilesAppear) {
  const std::string rows = kHeader + "\n" + kFa3 + "32,128,64,4,128,0,2\n";
  const Outcome outcome = run(rows, "--gpu h200-sxm --engine vllm --engine-version 0.24.0", "out.csv");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(read_file(folder_.file("out.csv")), run(rows).out);
}

TEST_F(CliLatency, OtherColumnsStayAndAnyOrderIsTaken) {
  const Outcome outcome =
      run("kv_len,batch,\"note, "
          "mine\",latency_us,kv_elem_bytes,window,head_dim,kv_heads,q_heads,gpu,engine,engine_version,"
          "kernel\n128,32,\"a,b\",7,2,0,128,4,64,H200,vllm,0.24.0,vllm_flash_attn_fa3\n");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(
      outcome.out,
      "kv_len,batch,\"note, mine\",latency_us,kv_elem_bytes,window,head_dim,kv_heads,q_heads,gpu,engine,"
      "engine_version,kernel,predicted_us,source\n"
      "128,32,\"a,b\",7,2,0,128,4,64,H200,vllm,0.24.0,vllm_flash_attn_fa3,13.13,table\n");
}

TEST_F(CliLatency, WhatNoTableHasIsARoofline) {
  const Outcome outcome =
      run(kHeader + "\nmi300x,vllm,1,k,64,8192,32,8,128,0,2\n", "--gpu mi300x --engine vllm");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  // 12 us and 64 x 8 x 8192 tokens x 512 bytes and 64 x 32 x 128 x 4 bytes at 0.9 x 5.3e12 bytes/s.
  EXPECT_EQ(outcome.out,
            kHeader + ",predicted_us,source\nmi300x,vllm,1,k,64,8192,32,8,128,0,2,462.426,roofline\n");
  EXPECT_TRUE(outcome.err.starts_with(
      "kvplan: warning: there is no table of decode attention for engine \"vllm\" on mi300x: times are a "
      "roofline estimate from the device's figures (measured tables: "))
      << outcome.err;
  EXPECT_NE(run(kHeader + "\n", "--gpu B200 --engine sglang").err.find("there is no table of"),
            std::string::npos);
}

TEST_F(CliLatency, OptionsDecideAndWhatDiffersIsSaid) {
  const Outcome outcome = run(kHeader + "\nH100,sglang,0.24.0,fa3,32,128,64,4,128,0,2\n" +
                                  "H200,vllm,0.23.0,fa2,32,128,64,4,128,0,2\n",
                              "--gpu H200 --engine vllm --engine-version 0.23.0");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("H100,sglang,0.24.0,fa3,32,128,64,4,128,0,2,13.13,extrapolated\n"),
            std::string::npos);
  EXPECT_EQ(outcome.err,
            "kvplan: warning: no table of vllm 0.23.0 on h200-sxm: times come from tables of version "
            "0.24.0\nkvplan: warning: 1 row names another GPU; times are for --gpu H200\nkvplan: warning: "
            "1 row names another engine; times are for --engine vllm\nkvplan: warning: 1 row names another "
            "engine version; times are for 0.24.0\nkvplan: warning: 1 row names another kernel; times are "
            "for vllm_flash_attn_fa3\n");
}

TEST_F(CliLatency, Errors) {
  const std::string good = kFa3 + "32,128,64,4,128,0,2\n";
  EXPECT_EQ(error(""), "kvplan: in.csv: expected a header line, found an empty file\n");
  EXPECT_EQ(error("gpu,engine\n"),
            "kvplan: in.csv:1: engine_version: expected a column of this name, found gpu, engine\n");
  EXPECT_EQ(error(kHeader + ",gpu\n"),
            "kvplan: in.csv:1: gpu: expected one column of this name, found two\n");
  EXPECT_EQ(error(kHeader + ",source\n"),
            "kvplan: in.csv:1: source: expected rows without this column: the command adds it\n");
  EXPECT_EQ(error(kHeader + "\n" + good + "1,2\n"), "kvplan: in.csv:3: expected 11 cells, found 2\n");
  EXPECT_EQ(error(kHeader + "\n" + good + kFa3 + "32,128,64,4,128,0,2,9\n"),
            "kvplan: in.csv:3: expected 11 cells, found more\n");
  EXPECT_EQ(error(kHeader + "\n" + kFa3 + "0,128,64,4,128,0,2\n"),
            "kvplan: in.csv:2: batch: expected a whole number from 1 to 1048576, found \"0\"\n");
  EXPECT_EQ(error(kHeader + "\n" + kFa3 + "1,,64,4,128,0,2\n"),
            "kvplan: in.csv:2: kv_len: expected a whole number from 1 to 1073741824, found nothing\n");
  EXPECT_EQ(error(kHeader + "\n" + kFa3 + "1,2,6,4,128,0,2\n"),
            "kvplan: in.csv:2: q_heads: expected a multiple of kv_heads, 4, found \"6\"\n");
  EXPECT_EQ(error(kHeader + "\n" + kFa3 + "1,2,4,4,128,0,two\n"),
            "kvplan: in.csv:2: kv_elem_bytes: expected a number from 0.0625 to 16, found \"two\"\n");
  EXPECT_TRUE(error(kHeader + "\n", "--gpu H2000 --engine vllm")
                  .starts_with("kvplan: --gpu: unknown device \"H2000\""));
  const Outcome prefill = run_kvplan("latency --kernel prefill --gpu H200 --engine vllm --csv x --out -");
  EXPECT_EQ(prefill.exit_code, 2);
  EXPECT_EQ(prefill.err,
            "kvplan: --kernel: unknown kernel \"prefill\" (known: decode-attention, all-reduce, gemm, moe, "
            "prefill-attention)\n");
  EXPECT_EQ(run_kvplan("latency --kernel decode-attention --gpu H200 --engine vllm --csv x").exit_code, 2);
}

TEST_F(CliLatency, TheExample) {
  const Outcome outcome =
      run(read_file(KVPLAN_SOURCE_DIR "/simulator/examples/decode_calls.csv"), "--gpu H100 --engine vllm");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* source : {",table\n", ",interpolated\n", ",extrapolated\n"})
    EXPECT_NE(outcome.out.find(source), std::string::npos) << source;
}

/// The rows of the tables, GPU by GPU and engine by engine: each row gets its own time.
TEST_F(CliLatency, EveryMeasuredRow) {
  KVPLAN_NEED_SHARED();
  std::istringstream table(
      read_file(traces::testing::shared_traces() + "/../reference/decode-attention-measured.csv"));
  std::map<std::string, std::pair<std::string, std::string>> parts;  // rows without times, and with times
  std::string line;
  for (std::getline(table, line); std::getline(table, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t gpu = line.find(','), engine = line.find(',', gpu + 1), time = line.rfind(',');
    auto& [asked, measured] =
        parts["--gpu " + line.substr(0, gpu) + " --engine " + line.substr(gpu + 1, engine - gpu - 1)];
    asked += line.substr(0, time) + "\n";
    // Numbers in their usual form: without zeros at the end.
    while (line.find('.', time) != std::string::npos && (line.ends_with('0') || line.ends_with('.')))
      line.pop_back();
    measured += line + ",table\n";
  }
  EXPECT_EQ(parts.size(), 7U);
  for (const auto& [names, rows] : parts) {
    const Outcome outcome = run(kHeader + "\n" + rows.first, names);
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(outcome.out == kHeader + ",predicted_us,source\n" + rows.second) << names;
  }
}

TEST_F(CliLatency, InputAndOutputAreApart) {
  const Outcome outcome = run(kHeader + "\n", "--gpu H200 --engine vllm", "in.csv");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(read_file(folder_.file("in.csv")), kHeader + "\n");
}

TEST_F(CliLatency, HelpNamesTheColumnsAndSources) {
  const Outcome outcome = run_kvplan("latency --help");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* word :
       {"kv_elem_bytes", "table ", "interpolated", "extrapolated", "roofline", "--engine-version"})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace kvplan
