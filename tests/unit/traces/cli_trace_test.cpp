// `kvplan trace` from the user's side: results, exit codes, one line for each error, no incomplete files, and bounded
// memory (the program runs with a limited address space).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::Outcome;
using testing::run_kvplan;
using testing::TemporaryFolder;

constexpr const char* kTwoRows =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 "
    "18:15:50.6805900,396,109";

std::string quoted(const std::string& path) {
  return "'" + path + "'";
}

void expect_one_line(const Outcome& outcome, const std::string& line) {
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, line + "\n");
}

TEST(CliTrace, InfoAsJsonHasTheKeysInOrder) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("a.csv"), kTwoRows);
  const Outcome outcome = run_kvplan("trace info " + quoted(folder.file("a.csv")) + " --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, R"({
  "requests": 2,
  "sessions": 0,
  "span_s": 4,
  "rate_per_s": 0.25,
  "interarrival_cv": 0,
  "input_tokens": {
    "mean": 385,
    "p50": 374,
    "p95": 396,
    "p99": 396,
    "max": 396
  },
  "output_tokens": {
    "mean": 76.5,
    "p50": 44,
    "p95": 109,
    "p99": 109,
    "max": 109
  },
  "prefix": null,
  "turns": null,
  "warnings": [],
  "digest": ")" + outcome.out.substr(outcome.out.find("digest\": \"") + 10, 16) +
                             R"(",
  "format": "azure",
  "sources": [
    "a.csv"
  ],
  "options": [
    "map=arrival=TIMESTAMP:iso,input=ContextTokens,output=GeneratedTokens"
  ]
}
)");
}

TEST(CliTrace, ImportInfoHeadConvertAgree) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("a.csv"), kTwoRows);
  const Outcome import =
      run_kvplan("trace import " + quoted(folder.file("a.csv")) + " -o " + quoted(folder.file("a.kvt")));
  EXPECT_EQ(import.exit_code, 0);
  EXPECT_EQ(import.out, "");
  EXPECT_EQ(import.err.substr(folder.file("a.kvt").size(), 59),
            ": 2 requests from azure over 4.000 s, 0.250 per second, dig");
  const std::string json = run_kvplan("trace info --json - " + quoted(folder.file("a.csv"))).out;
  EXPECT_EQ(run_kvplan("trace info --json - " + quoted(folder.file("a.kvt"))).out, json);
  EXPECT_EQ(run_kvplan("trace head -n 1 " + quoted(folder.file("a.kvt"))).out,
            " request       arrival s    input   output\n       0        0.000000      374       44\n");
  const std::string digest = json.substr(json.find("digest"), 27);
  for (const char* name : {"b.csv", "b.csv.gz", "b.csv.zst", "b.kvt.gz", "b.jsonl", "b.jsonl.zst"}) {
    EXPECT_EQ(run_kvplan("trace convert " + quoted(folder.file("a.kvt")) + " -o " + quoted(folder.file(name)))
                  .exit_code,
              0);
    const std::string again = run_kvplan("trace info --json - " + quoted(folder.file(name))).out;
    EXPECT_EQ(again.substr(again.find("digest"), 27), digest) << name;
  }
}

TEST(CliTrace, MooncakeRowsSurviveConversion) {
  const TemporaryFolder folder;
  testing::write_file(
      folder.file("a.jsonl"),
      "{\"timestamp\": 1.25, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 7], "
      "\"session_id\": \"a \\\"b\\\"\"}\n"
      "{\"timestamp\": 3, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8], "
      "\"max_tokens\": 9}\n");
  run_kvplan("trace convert " + quoted(folder.file("a.jsonl")) + " -o " + quoted(folder.file("b.jsonl")));
  EXPECT_EQ(
      testing::read_file(folder.file("b.jsonl")),
      "{\"timestamp\": 1.25, \"input_length\": 600, \"output_length\": 5, \"session_id\": \"a \\\"b\\\"\", "
      "\"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 3, \"input_length\": 600, \"output_length\": 5, \"max_tokens\": 9, \"hash_ids\": [0, "
      "2]}\n");
}

TEST(CliTrace, RowsWithoutPrefixIdsSurviveConversionToJson) {
  const TemporaryFolder folder;
  testing::write_file(
      folder.file("a.csv"),
      "arrival_ns,input_tokens,output_tokens,session,tenant,max_tokens,ttft_ns,e2e_ns,priority\n"
      "1700000000000000001,600,5,\"a \"\"b\"\"\",,,,,\n"
      "7,0,5,c,x\\y,9,250000000,0,2\n");
  run_kvplan("trace convert " + quoted(folder.file("a.csv")) + " -o " + quoted(folder.file("b.jsonl")));
  EXPECT_EQ(testing::read_file(folder.file("b.jsonl")),
            "{\"arrival_ns\": 1700000000000000001, \"input_tokens\": 600, \"output_tokens\": 5, \"session\": "
            "\"a \\\"b\\\"\"}\n"
            "{\"arrival_ns\": 7, \"input_tokens\": 0, \"output_tokens\": 5, \"session\": \"c\", \"tenant\": "
            "\"x\\\\y\", \"max_tokens\": 9, \"ttft_ns\": 250000000, \"e2e_ns\": 0, \"priority\": "
            "2}\n");
  const Result<Trace> csv = open_trace(folder.file("a.csv"));
  const Result<Trace> json = open_trace(folder.file("b.jsonl"));
  ASSERT_TRUE(csv.ok() && json.ok());
  testing::expect_same(json.value(), csv.value());
  EXPECT_EQ(json.value().digest, csv.value().digest);
  EXPECT_EQ(json.value().provenance.format, "kvplan-jsonl");
}

TEST(CliTrace, TheEndingOfAnImportSaysWhatIsWritten) {
  const TemporaryFolder folder;
  testing::write_file(
      folder.file("a.csv"),
      "TIMESTAMP,ContextTokens,GeneratedTokens\n1970-01-01 00:00:02,5,6\n1970-01-01 00:00:01,7,8\n");
  const std::string import = "trace import " + quoted(folder.file("a.csv")) + " -o ";
  const std::string warning =
      "warning: 1 of 2 arrivals are earlier than the arrival before them; runs sort them, and keep the "
      "file's order for equal times.\n";
  const Outcome csv = run_kvplan(import + quoted(folder.file("b.csv")));
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_EQ(csv.err, warning);  // tables cannot contain the warning
  EXPECT_EQ(testing::read_file(folder.file("b.csv")),
            "arrival_ns,input_tokens,output_tokens\n2000000000,5,6\n1000000000,7,8\n");
  EXPECT_EQ(run_kvplan(import + quoted(folder.file("b.jsonl"))).exit_code, 0);
  EXPECT_EQ(testing::read_file(folder.file("b.jsonl")).front(), '{');
  for (const char* name : {"b.kvt", "b", "b.kvt.gz"}) {
    const Outcome kvt = run_kvplan(import + quoted(folder.file(name)));
    EXPECT_EQ(kvt.exit_code, 0);
    EXPECT_NE(kvt.err.find(warning), std::string::npos);
    EXPECT_EQ(open_trace(folder.file(name)).value().size(), 2) << name;
  }
  std::filesystem::create_directory(folder.file("c.kvt"));
  for (const char* name : {"b.json", "b.pdf.gz", "b.kvtx", "c.kvt/b.pdf"}) {
    expect_one_line(run_kvplan(import + quoted(folder.file(name))),
                    "kvplan: " + folder.file(name) +
                        ": --output: expected an ending .kvt, .csv or .jsonl, before .gz or .zst if any");
    for (const char* command : {"convert ", "scale ", "start --rate 1 "})
      EXPECT_NE(run_kvplan("trace " + std::string(command) + quoted(folder.file("a.csv")) + " -o " +
                           quoted(folder.file(name)))
                    .err.find(": --output: expected an ending"),
                std::string::npos)
          << command << name;
  }
  EXPECT_EQ(folder.listing(), "a.csv b b.csv b.jsonl b.kvt b.kvt.gz c.kvt");
}

TEST(CliTrace, NamesCannotDriveTheTerminal) {
  const TemporaryFolder folder;
  testing::write_file(
      folder.file("a.csv"),
      "arrival_ns,input_tokens,output_tokens,session\n5,1,1,\x1B[31mred\n6,1,1,\xFF|\xC3\xA9\n");
  EXPECT_EQ(run_kvplan("trace head " + quoted(folder.file("a.csv"))).out,
            " request       arrival s    input   output  session\n"
            "       0        0.000000        1        1  \\x1B[31mred\n"
            "       1        0.000000        1        1  \\xFF|\xC3\xA9\n");
}

TEST(CliTrace, MergedFilesAreNamedInErrors) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("a.csv"), kTwoRows);
  testing::write_file(folder.file("b.csv"), "num_prefill_tokens,num_decode_tokens\n5,6\n");
  expect_one_line(run_kvplan("trace merge " + quoted(folder.file("a.csv")) + " " +
                             quoted(folder.file("b.csv")) + " -o " + quoted(folder.file("c.kvt"))),
                  "kvplan: " + folder.file("b.csv") +
                      ": traces have no common clock, so the order of arrivals is unknown");
}

TEST(CliTrace, WhatLongerPromptsLackIsSaidOfTheScaledTrace) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("a.jsonl"),
                      "{\"timestamp\":1,\"input_length\":1024,\"output_length\":5,\"hash_ids\":[9,7]}\n"
                      "{\"timestamp\":2,\"input_length\":512,\"output_length\":5,\"hash_ids\":[9]}\n");
  EXPECT_EQ(run_kvplan("trace scale --input-length 2 " + quoted(folder.file("a.jsonl")) + " -o " +
                       quoted(folder.file("b.kvt")))
                .exit_code,
            0);
  EXPECT_NE(run_kvplan("trace info " + quoted(folder.file("b.kvt")))
                .out.find("warning: 2 of 2 requests have fewer prefix ids than full blocks of 512 tokens; "
                          "the rest of these prompts shares nothing with others.\n"),
            std::string::npos);
}

TEST(CliTrace, AScenarioIsBlamedForWhatItSaysOfItsTrace) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("a.csv"), kTwoRows);
  ASSERT_EQ(run_kvplan("trace import " + quoted(folder.file("a.csv")) + " -o " + quoted(folder.file("a.kvt")))
                .exit_code,
            0);
  const auto error = [&](const std::string& trace, const std::string& key, const std::string& value,
                         const std::string& flags = "") {
    testing::write_file(folder.file("s.json"),
                        "{\"workload\": {\"trace\": \"" + trace + "\", \"" + key + "\": " + value + "}}\n");
    return run_kvplan("run " + quoted(folder.file("s.json")) + flags).err;
  };
  EXPECT_EQ(error("a.csv", "format", "\"azur\"").substr(0, 56),
            "kvplan: workload.format: unknown format \"azur\"; did you ");
  EXPECT_EQ(error("a.csv", "map", "\"arrival=a\""), "kvplan: workload.map: input=COLUMN must be given\n");
  EXPECT_EQ(error("a.csv", "format", "\"azure\"", " --format azur").substr(0, 49),
            "kvplan: --format: unknown format \"azur\"; did you ");
  const std::string refused = ": option is not for .kvt files\n";
  EXPECT_EQ(error("a.kvt", "format", "\"azure\""),
            "kvplan: " + folder.file("a.kvt") + ": workload.format" + refused);
  EXPECT_EQ(error("a.kvt", "block_tokens", "16"),
            "kvplan: " + folder.file("a.kvt") + ": workload.block_tokens" + refused);
  EXPECT_EQ(run_kvplan("trace info --block 16 " + quoted(folder.file("a.kvt"))).err,
            "kvplan: " + folder.file("a.kvt") + ": --block" + refused);
}

TEST(CliTrace, UsageErrorsAreOneLine) {
  expect_one_line(run_kvplan(""), "kvplan: A subcommand is required (see --help)");
  expect_one_line(run_kvplan("trace"), "kvplan: A subcommand is required (see --help)");
  expect_one_line(run_kvplan("trace info"), "kvplan: TRACE is required (see --help)");
  expect_one_line(run_kvplan("trace info a --bogus"),
                  "kvplan: The following argument was not expected: --bogus (see --help)");
  expect_one_line(run_kvplan("trace import a"), "kvplan: --output is required (see --help)");
  EXPECT_EQ(run_kvplan("--version").exit_code, 0);
  EXPECT_EQ(run_kvplan("--version").out.substr(0, 7), "kvplan ");
  EXPECT_EQ(run_kvplan("trace import --help").exit_code, 0);
}

TEST(CliTrace, ABadInputLeavesNoOutputAndAnOldOneAlone) {
  const TemporaryFolder folder;
  const std::string out = quoted(folder.file("out.kvt"));
  testing::write_file(folder.file("bad.csv"), std::string(kTwoRows) + "\nx,1,2\n");
  expect_one_line(run_kvplan("trace import " + quoted(folder.file("bad.csv")) + " -o " + out),
                  "kvplan: " + folder.file("bad.csv") +
                      ":4: TIMESTAMP: expected a time such as 2023-11-16 18:15:46.68 or "
                      "2024-05-10T00:00:00Z, found \"x\"");
  EXPECT_EQ(folder.listing(), "bad.csv");
  testing::write_file(folder.file("out.kvt"), "precious");
  EXPECT_EQ(run_kvplan("trace import " + quoted(folder.file("bad.csv")) + " -o " + out).exit_code, 2);
  EXPECT_EQ(testing::read_file(folder.file("out.kvt")), "precious");
  EXPECT_EQ(folder.listing(), "bad.csv out.kvt");
}

TEST(CliTrace, FilesThatCannotBeReadOrWritten) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("a.csv"), kTwoRows);
  testing::write_file(folder.file("empty"), "");
  expect_one_line(run_kvplan("trace info " + quoted(folder.file("none"))),
                  "kvplan: " + folder.file("none") + ": cannot open: No such file or directory");
  expect_one_line(run_kvplan("trace info " + quoted(folder.file("empty"))),
                  "kvplan: " + folder.file("empty") + ": the file is empty");
  expect_one_line(run_kvplan("trace info " + quoted(folder.path())),
                  "kvplan: " + folder.path() + ": expected a file, found a folder");
  expect_one_line(run_kvplan("trace import " + quoted(folder.file("a.csv")) + " -o /dev/full"),
                  "kvplan: /dev/full: cannot write: No space left on device");
  expect_one_line(
      run_kvplan("trace import " + quoted(folder.file("a.csv")) + " -o " + quoted(folder.file("no/x.kvt"))),
      "kvplan: " + folder.file("no/x.kvt") + ": cannot write: No such file or directory");
  expect_one_line(
      run_kvplan("trace convert " + quoted(folder.file("a.csv")) + " -o " + quoted(folder.file("x.pdf"))),
      "kvplan: " + folder.file("x.pdf") +
          ": --output: expected an ending .kvt, .csv or .jsonl, before .gz or .zst if any");
  EXPECT_EQ(folder.listing(), "a.csv empty");
}

TEST(CliTrace, BombsTakeTimeButNoMemory) {
  const TemporaryFolder folder;
  // One line of 300 MB, and a table of 40 M empty columns: 256 MiB of address space are enough to refuse
  // them.
  ASSERT_EQ(
      std::system(
          ("head -c 300000000 /dev/zero | tr '\\0' x | gzip -1 > " + quoted(folder.file("line.gz"))).c_str()),
      0);
  const Outcome line = run_kvplan("trace info " + quoted(folder.file("line.gz")), 256);
  EXPECT_EQ(line.exit_code, 2);
  EXPECT_EQ(line.err, "kvplan: " + folder.file("line.gz") + ": is not a trace in any known format (" +
                          testing::known_formats() + ")\n");
  const Outcome forced = run_kvplan("trace info --format azure " + quoted(folder.file("line.gz")), 256);
  EXPECT_EQ(forced.exit_code, 2);
  EXPECT_EQ(forced.err, "kvplan: " + folder.file("line.gz") + ":1: a line has more than 67108864 bytes\n");
  ASSERT_EQ(
      std::system(("head -c 40000000 /dev/zero | tr '\\0' , | gzip -1 > " + quoted(folder.file("commas.gz")))
                      .c_str()),
      0);
  const Outcome commas = run_kvplan("trace info --format azure " + quoted(folder.file("commas.gz")), 256);
  EXPECT_EQ(commas.exit_code, 2);
  EXPECT_EQ(commas.err, "kvplan: " + folder.file("commas.gz") + ":1: more than 4096 columns\n");
}

TEST(CliTrace, ImportStreamsInBoundedMemory) {
  const TemporaryFolder folder;
  // 3 M rows: 72 MB of columns in memory, 130 MB of text; the import has 96 MiB of address space, including the
  // program.
  ASSERT_EQ(
      std::system(
          ("{ echo arrival_ns,input_tokens,output_tokens; seq 1 3000000 | sed 's/$/000000,1000,100/'; } "
           "| gzip -1 > " +
           quoted(folder.file("a.gz")))
              .c_str()),
      0);
  const Outcome import =
      run_kvplan("trace import " + quoted(folder.file("a.gz")) + " -o " + quoted(folder.file("a.kvt")), 96);
  EXPECT_EQ(import.exit_code, 0) << import.err;
  const Outcome head = run_kvplan("trace head -n 2 " + quoted(folder.file("a.kvt")), 96);
  EXPECT_EQ(head.exit_code, 0) << head.err;
  const Outcome convert = run_kvplan(
      "trace convert " + quoted(folder.file("a.kvt")) + " -o " + quoted(folder.file("b.jsonl.zst")), 96);
  EXPECT_EQ(convert.exit_code, 0) << convert.err;
}

TEST(CliTrace, SpansStreamInBoundedMemory) {
  const TemporaryFolder folder;
  // 300,000 spans of 500 bytes in one document on one line.
  ASSERT_EQ(
      std::system(
          ("{ printf '{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{}'; seq 1 300000 | sed "
           "'s/.*/,{\"traceId\":\"&\",\"startTimeUnixNano\":&000000,\"endTimeUnixNano\":\"&000009\","
           "\"attributes\":[{\"key\":\"gen_ai.usage.input_tokens\",\"value\":{\"intValue\":\"5\"}},{\"key\":"
           "\"gen_ai.usage.output_tokens\",\"value\":{\"intValue\":6}},{\"key\":\"gen_ai.conversation.id\","
           "\"value\":{\"stringValue\":\"c\"}}]}/' | tr -d '\\n'; printf ']}]}]}'; } | gzip -1 > " +
           quoted(folder.file("a.gz")))
              .c_str()),
      0);
  const Outcome import =
      run_kvplan("trace import " + quoted(folder.file("a.gz")) + " -o " + quoted(folder.file("a.kvt")), 96);
  EXPECT_EQ(import.exit_code, 0) << import.err;
  EXPECT_NE(import.err.find("300,000 requests from otel"), std::string::npos) << import.err;
}

TEST(CliTrace, DocumentsAreNotTakenForScenariosNorTheOtherWayRound) {
  const TemporaryFolder folder;
  const std::string spans =
      "{\n\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [{\"startTimeUnixNano\": \"1\", \"attributes\": "
      "[{\"key\": \"gen_ai.usage.input_tokens\", \"value\": {\"intValue\": 5}}, {\"key\": "
      "\"gen_ai.usage.output_tokens\", \"value\": {\"intValue\": 5}}]}]}]}]\n}\n";
  const std::string bench = "{\n\"input_lens\": [5],\n\"output_lens\": [5],\n\"start_times\": [1]\n}\n";
  const std::string texts =
      "[\n{\"conversations\": [{\"from\": \"human\", \"value\": \"q\"}, {\"from\": \"gpt\", \"value\": "
      "\"r\"}]}\n]\n";
  for (const std::string& text : {spans, bench, texts}) {
    for (const char* name : {"t", "t.json", "t.kvs"}) {
      testing::write_file(folder.file(name), text);
      const Outcome run = run_kvplan("run " + quoted(folder.file(name)) + " --json -");
      EXPECT_EQ(run.exit_code, 0) << name << run.err;
      EXPECT_NE(run.out.find("\"completed\": 1,"), std::string::npos) << name;
    }
  }
  // Scenarios, resolved scenarios and reports are not traces, whatever they contain.
  const std::string refusal = ": is not a trace in any known format (" + testing::known_formats() + ")";
  const auto expect_no_trace = [&](const std::string& path) {
    expect_one_line(run_kvplan("trace info " + quoted(path)), "kvplan: " + path + refusal);
  };
  int scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KVPLAN_SOURCE_DIR "/simulator/examples")) {
    if (entry.path().extension() != ".json") continue;
    ++scenarios;
    expect_no_trace(entry.path().string());
  }
  EXPECT_GE(scenarios, 4);
  testing::write_file(folder.file("report"), run_kvplan("run " + quoted(folder.file("t")) + " --json -").out);
  expect_no_trace(folder.file("report"));
  // A document in no known format is treated as a scenario with an error, under any name.
  for (const char* name : {"s", "s.json"}) {
    testing::write_file(folder.file(name), "{\n\"workloads\": {\"trace\": \"t\"}\n}\n");
    const Outcome run = run_kvplan("run " + quoted(folder.file(name)));
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_NE(run.err.find(":2: unknown scenario path \"workloads.trace\""), std::string::npos) << run.err;
  }
}

/// True if the process has a file of the folder open in addition to its "err", with or without a name.
bool writes_in(pid_t process, const TemporaryFolder& folder) {
  std::error_code gone;
  const std::string descriptors = "/proc/" + std::to_string(process) + "/fd";
  for (std::filesystem::directory_iterator at(descriptors, gone), end; !gone && at != end;
       at.increment(gone)) {
    const std::string file = std::filesystem::read_symlink(at->path(), gone).string();
    if (file.rfind(folder.path() + "/", 0) == 0 && file != folder.file("err")) return true;
  }
  return false;
}

TEST(CliTrace, InterruptLeavesNothingAndExitsWithThree) {
  const TemporaryFolder folder;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // in case it does not stop
    ::dup2(pipe_ends[0], STDIN_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    const int log = ::open(folder.file("err").c_str(), O_CREAT | O_WRONLY, 0600);
    ::dup2(log, STDERR_FILENO);
    ::execl(KVPLAN_PROGRAM_DIR "/kvplan", "kvplan", "trace", "import", "/dev/stdin", "-o",
            folder.file("out.kvt").c_str(), nullptr);
    ::_exit(99);
  }
  ::close(pipe_ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  // An input without an end. When an output has begun, the program is asked to stop; rows continue until it stops.
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  bool told = false;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (::write(pipe_ends[1], rows.data(), rows.size()) < 0) continue;
    rows.clear();
    for (int i = 0; i < 1000; ++i) rows += "5,1,1\n";
    if (!told && writes_in(child, folder)) told = ::kill(child, SIGINT) == 0;
  }
  ::close(pipe_ends[1]);
  std::signal(SIGPIPE, before);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(testing::read_file(folder.file("err")).substr(0, 8), "kvplan: ");
  EXPECT_NE(testing::read_file(folder.file("err")).find("interrupted\n"), std::string::npos);
  EXPECT_EQ(folder.listing(), "err");
}

}  // namespace
}  // namespace kvplan::traces
