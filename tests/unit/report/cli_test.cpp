// `kvplan run`, `compare`, `list` and `explain` from the user's side.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "simulator/model/kv_format.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/scenario/scenario.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

using testing::kMicroTrace;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

namespace dom = simdjson::dom;

const std::string kSmallPool = " --set memory.pool_blocks=1000 --set workload.limit=400";

dom::element parsed(dom::parser& parser, const std::string& text) {
  dom::element root;
  EXPECT_EQ(parser.parse(text).get(root), simdjson::SUCCESS) << text.substr(0, 200);
  return root;
}

/// JSON pointers of all members of an object, except those in arrays.
void pointers(dom::element element, std::string at, std::vector<std::string>& out) {
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return;
  for (const auto& [key, value] : object) {
    out.push_back(at + "/" + std::string(key));
    pointers(value, out.back(), out);
  }
}

std::vector<std::string> contract_keys() {
  std::vector<std::string> keys{"/scenario",       "/seed",       "/version",     "/trace/digest",
                                "/trace/requests", "/warnings",   "/assumptions", "/preemptions",
                                "/iterations",     "/makespan_s", "/replicas"};
  const auto add = [&](const std::string& object, std::initializer_list<const char*> names) {
    for (const char* name : names) keys.push_back(object + "/" + name);
  };
  add("/requests", {"arrived", "completed", "rejected", "unfinished", "preempted"});
  add("/tokens", {"input", "output", "computed", "recomputed", "prefix_hit", "rehit"});
  add("/batch", {"mean_running", "max_running"});
  for (const char* latency : {"ttft", "tpot", "e2e", "queue"})
    add(std::string("/latency_s/") + latency, {"mean", "p50", "p90", "p95", "p99", "max"});
  add("/throughput", {"requests_per_s", "output_tokens_per_s"});
  add("/memory", {"capacity_bytes", "peak/time_s"});
  for (const char* states : {"mean_bytes", "mean_fraction", "peak/bytes"})
    add(std::string("/memory/") + states, {"live", "reserved", "internal", "tail", "hole", "padding",
                                           "cached", "metadata", "stranded", "free"});
  add("/evictions", {"tokens", "blocks_freed", "hole_bytes_peak", "compactions", "compaction_bytes"});
  add("/placement",
      {"copies", "copied_bytes", "compactions", "compaction_bytes", "delay_s", "delay_fraction"});
  add("/slo", {"met_fraction", "goodput_per_s"});
  return keys;
}

void expect_keys(dom::element report) {
  std::vector<std::string> found;
  pointers(report, "", found);
  for (const std::string& key : contract_keys())
    EXPECT_NE(std::find(found.begin(), found.end(), key), found.end()) << key;
}

TEST(CliRun, PrintsTheReportAsText) {
  const Outcome outcome = run_kvplan(std::string("run ") + kMicroTrace + kSmallPool);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* title : {"400 requests on llama-3-8b, one replica\n", "\nVerdict\n", "\nLatency\n",
                            "\nWhat limits\n", "\nMemory: ", "\nWork\n", "\nScenario\n", "\nAssumed\n"})
    EXPECT_NE(outcome.out.find(title), std::string::npos) << title;
}

TEST(CliRun, JsonOnStandardOutputIsAlone) {
  const Outcome outcome = run_kvplan(std::string("run ") + kMicroTrace + kSmallPool + " --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  dom::parser parser;
  expect_keys(parsed(parser, outcome.out));
  const TemporaryFolder folder;
  const Outcome both =
      run_kvplan(std::string("run ") + kMicroTrace + kSmallPool + " --json '" + folder.file("r.json") + "'");
  EXPECT_NE(both.out.find("What limits"), std::string::npos);
  EXPECT_EQ(read_file(folder.file("r.json")), outcome.out);
}

TEST(CliRun, NumbersOfTheScenarioAreNumbers) {
  const std::string command = std::string("run ") + kMicroTrace + kSmallPool +
                              " --set latency=affine:base_ns=.5,token_ns=1e3,context_ns=0.10 --json -";
  const Outcome outcome = run_kvplan(command + " --set workload.rate_scale=2.50");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* line :
       {"\"rate_scale\": 2.50,", "\"base_ns\": 0.5,", "\"token_ns\": 1e3,", "\"context_ns\": 0.10\n"})
    EXPECT_NE(outcome.out.find(line), std::string::npos) << line;
  const Outcome fraction = run_kvplan(command + " --set workload.rate_scale=5/2");
  EXPECT_NE(fraction.out.find("\"rate_scale\": \"5/2\","), std::string::npos) << "no JSON number says this";
  EXPECT_EQ(fraction.out.substr(fraction.out.find("\"requests\"")),
            outcome.out.substr(outcome.out.find("\"requests\"")));
}

TEST(CliRun, WhatHasNoValueIsNull) {
  const Outcome outcome = run_kvplan(std::string("run ") + kMicroTrace + " --set workload.limit=0 --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  dom::parser parser;
  const dom::element report = parsed(parser, outcome.out);
  expect_keys(report);
  for (const char* key : {"/latency_s/ttft/mean", "/latency_s/queue/p99", "/throughput/requests_per_s",
                          "/memory/mean_bytes/live", "/memory/mean_fraction/free", "/memory/peak/time_s",
                          "/batch/mean_running", "/slo/met_fraction", "/slo/goodput_per_s"}) {
    dom::element value;
    ASSERT_EQ(report.at_pointer(key).get(value), simdjson::SUCCESS) << key;
    EXPECT_TRUE(value.is_null()) << key;
  }
  std::int64_t zero = -1;
  EXPECT_EQ(report.at_pointer("/requests/arrived").get(zero), simdjson::SUCCESS);
  EXPECT_EQ(zero, 0);
}

TEST(CliRun, PageNamesTheCommandThatMakesItAgain) {
  const TemporaryFolder folder;
  const std::string page = folder.file("a page.html");
  const std::string command = std::string("run ") + kMicroTrace +
                              " --set memory.pool_blocks=1000 --set workload.limit=200 --set "
                              "targets.ttft_s=0.5 --timeline-bins 50 --html '" +
                              page + "'";
  EXPECT_EQ(run_kvplan(command).exit_code, 0);
  const std::string first = read_file(page);
  const auto root = testing::parse_xml(first);
  ASSERT_EQ(root.named("pre").size(), 1U);
  const std::string again = root.named("pre")[0]->text;
  ASSERT_EQ(again.substr(0, 7), "kvplan ");
  ASSERT_EQ(unlink(page.c_str()), 0);
  EXPECT_EQ(run_kvplan(again.substr(7)).exit_code, 0);
  EXPECT_EQ(read_file(page), first);
}

TEST(CliRun, OptionsMayStandBeforeTheInput) {
  const Outcome outcome =
      run_kvplan(std::string("run --set workload.limit=3 --set seed=1 ") + kMicroTrace + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run_kvplan(std::string("compare --vary 'seed=1;2' ") + kMicroTrace + " --set workload.limit=3")
                .exit_code,
            0);
}

TEST(CliRun, OneOutputOnStandardOutput) {
  const Outcome outcome = run_kvplan(std::string("run ") + kMicroTrace + " --json - --html -");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "kvplan: expected at most one output on standard output\n");
}

TEST(CliCompare, HasTheReportsKeysUnderVariants) {
  const std::string arguments = std::string("compare ") + kMicroTrace + kSmallPool +
                                " --vary 'memory.allocator=paged:block_tokens=16;paged:block_tokens=64'"
                                " --vary 'engine.prefix_cache=true;false'";
  const Outcome one = run_kvplan(arguments + " --json -");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  dom::parser parser;
  dom::array variants;
  ASSERT_EQ(parsed(parser, one.out)["variants"].get(variants), simdjson::SUCCESS);
  ASSERT_EQ(variants.size(), 4U);
  for (const dom::element variant : variants) {
    expect_keys(variant);
    std::vector<std::string> found;
    pointers(variant["varied"], "", found);
    EXPECT_EQ(found, (std::vector<std::string>{"/memory.allocator", "/engine.prefix_cache"}));
  }
  for (const char* threads : {" --threads 2", " --threads 3"})
    EXPECT_EQ(run_kvplan(arguments + threads + " --json -").out, one.out);
  const Outcome text = run_kvplan(arguments);
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part : {"4 variants of one scenario\n\nAnswer\n", "Memory by state, mean share\n",
                           "Service\n", "allocator=paged:block_tokens=64, prefix_cache=false"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part;
}

TEST(CliCompare, WarningsStandOnStandardErrorBesideJson) {
  const std::string command = std::string("compare ") + kMicroTrace + kSmallPool +
                              " --vary 'memory.allocator=contiguous;contiguous:reserve=oracle;paged'";
  const std::string warning =
      "prefix_cache is ignored with memory.allocator=contiguous: the allocator cannot share memory between "
      "requests.";
  for (const char* output : {" --json -", " --html -"}) {
    // Sizes in blocks are refused by contiguous allocators.
    const Outcome refused = run_kvplan(command + output);
    EXPECT_EQ(refused.exit_code, 1) << refused.err;
    EXPECT_EQ(refused.err.substr(0, 54), "kvplan: warning: could not run: variant 1: memory.pool") << output;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 3) << refused.err;
    EXPECT_NE(refused.err.find("\nkvplan: 2 of 3 variants could not run\n"), std::string::npos)
        << refused.err;
    EXPECT_GT(refused.out.size(), 1000U) << "all is printed before";
    const Outcome warned =
        run_kvplan(command + " --set memory.pool_blocks=none --set memory.pool_tokens=16000" + output);
    EXPECT_EQ(warned.exit_code, 0) << warned.err;
    EXPECT_EQ(warned.err, "kvplan: warning: variant 1 and variant 2: " + warning + "\n") << "once";
  }
  const TemporaryFolder folder;
  const Outcome text = run_kvplan(command + " --json '" + folder.file("r.json") + "'");
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.err, "kvplan: 2 of 3 variants could not run\n") << "the text has the reasons";
  EXPECT_NE(text.out.find("\nCould not run\n"), std::string::npos);
  EXPECT_NE(read_file(folder.file("r.json")).find("\"error\": \"memory.pool_blocks"), std::string::npos);
}

TEST(CliCompare, ABadVaryIsOneLine) {
  for (const char* vary :
       {"memory.allocator", "nothing.here=1;2", "engine=vllm-v2", "memory.pool_blocks=1;x"}) {
    const Outcome outcome =
        run_kvplan(std::string("compare ") + kMicroTrace + kSmallPool + " --vary '" + vary + "'");
    EXPECT_EQ(outcome.exit_code, 2) << vary;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_EQ(outcome.err.substr(0, 8), "kvplan: ");
  }
  EXPECT_EQ(run_kvplan(std::string("compare ") + kMicroTrace).exit_code, 2);
}

TEST(CliList, HasEveryComponentAndExplainEveryParameter) {
  const Outcome text = run_kvplan("list");
  EXPECT_LT(std::count(text.out.begin(), text.out.end(), '\n'), 70) << "families, not members";
  const Outcome json = run_kvplan("list --json");
  EXPECT_EQ(text.exit_code, 0);
  dom::parser parser;
  dom::array components;
  ASSERT_EQ(parsed(parser, json.out)["components"].get(components), simdjson::SUCCESS);
  const auto in_json = [&](std::string_view family, std::string_view name) -> std::optional<dom::element> {
    for (const dom::element c : components) {
      std::string_view f, n;
      EXPECT_EQ(c["family"].get(f), simdjson::SUCCESS);
      EXPECT_EQ(c["name"].get(n), simdjson::SUCCESS);
      if (f == family && n == name) return c;
    }
    return std::nullopt;
  };
  for (const auto family : runs::families()) {
    const Outcome one = run_kvplan("list " + std::string(family));
    for (const Descriptor* d : runs::family_descriptors(family)) {
      if (d->family != family) continue;  // a scenario's format may be a codec, which is listed as such
      const std::string name(d->name);
      EXPECT_NE(text.out.find(name), std::string::npos) << name;
      EXPECT_NE(one.out.find("\n  " + name), std::string::npos) << name;
      const Outcome explained = run_kvplan("explain " + name);
      EXPECT_EQ(explained.exit_code, 0);
      EXPECT_NE(explained.out.find(name + " (" + std::string(family) + ")\n"), std::string::npos);
      const auto component = in_json(family, name);
      ASSERT_TRUE(component) << name;
      dom::array params;
      ASSERT_EQ((*component)["params"].get(params), simdjson::SUCCESS);
      ASSERT_EQ(params.size(), d->params.size());
      for (std::size_t i = 0; i < d->params.size(); ++i) {
        std::string_view param;
        EXPECT_EQ(params.at(i)["name"].get(param), simdjson::SUCCESS);
        EXPECT_EQ(param, d->params[i].name);
        EXPECT_NE(explained.out.find("\n  " + std::string(param)), std::string::npos) << param;
      }
    }
  }
  for (const runs::Field& field : runs::scenario_fields()) {
    EXPECT_TRUE(in_json("scenario", field.path)) << field.path;
    EXPECT_EQ(run_kvplan("explain " + std::string(field.path)).exit_code, 0);
  }
  for (const model::ModelShape& m : model::models()) {
    EXPECT_TRUE(in_json("model", m.name)) << m.name;
    EXPECT_NE(run_kvplan("explain " + std::string(m.name)).out.find("bytes of KV cache per token"),
              std::string::npos);
  }
  for (const Descriptor* d : model::format_descriptors()) {
    EXPECT_TRUE(in_json("format", d->name)) << d->name;
    EXPECT_EQ(run_kvplan("explain " + std::string(d->name)).exit_code, 0);
  }
  for (const traces::Importer* importer : traces::importers())
    EXPECT_TRUE(in_json("trace-format", importer->name)) << importer->name;
}

TEST(CliRun, ATableIsReadAsTheOptionsSay) {
  const TemporaryFolder folder;
  const std::string table = folder.file("t.csv");
  write_file(table, "when,a,b,ids\n0,33,20,1;2;3\n1,33,20,1;2;4\n");
  const std::string map = "arrival=when:s,input=a,output=b,hashes=ids,block=16";
  const auto hits = [&](const std::string& rest) {
    const Outcome outcome = run_kvplan("run " + table + rest + " --json -");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.substr(outcome.out.find("\"prefix_hit\""), 20);
  };
  EXPECT_EQ(hits(" --map " + map).substr(0, 18), "\"prefix_hit\": 32,\n");
  EXPECT_EQ(hits(" --set workload.map=" + map), hits(" --map " + map));
  EXPECT_EQ(hits(" --format csv --map " + map), hits(" --map " + map));
  const Outcome wrong = run_kvplan("run " + table);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.err,
            "kvplan: " + table +
                ": no known format has these columns: when, a, b, ids; map them to roles, as in --map "
                "arrival=COLUMN:UNIT,input=COLUMN,output=COLUMN with a UNIT of s, ms, us, ns or iso\n");
  const std::string json = folder.file("t.json");
  write_file(json, "{\"when\":0,\"a\":33,\"b\":20}\n");
  EXPECT_EQ(run_kvplan("run " + json + " --map arrival=when:s,input=a,output=b").exit_code, 0)
      << "no scenario";
  const Outcome both = run_kvplan("compare " + table + " --map " + map + " --vary 'workload.map=" + map +
                                  ";arrival=when:s,input=b,output=a' --json -");
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_NE(both.out.find("\"input\": 66"), std::string::npos);
  EXPECT_NE(both.out.find("\"input\": 40"), std::string::npos) << "each as it says";
}

TEST(CliList, UnknownNamesAreOneLineWithTheNearest) {
  const Outcome family = run_kvplan("list allocater");
  EXPECT_EQ(family.exit_code, 2);
  EXPECT_EQ(family.err.substr(0, 69),
            "kvplan: unknown family \"allocater\"; did you mean \"allocator\"? (known:");
  EXPECT_EQ(run_kvplan("explain allocator").out, run_kvplan("list allocator").out) << "a family";
  const Outcome name = run_kvplan("explain pagd --json");
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_EQ(name.out, "");
  EXPECT_EQ(name.err.substr(0, 55), "kvplan: unknown name \"pagd\"; did you mean \"paged\"? kvpl");
}

/// Runs the command on a trace that comes through a pipe, interrupts it when the trace has been read, and expects exit
/// code 3 and no output.
void expect_interrupted(const std::vector<std::string>& arguments, const TemporaryFolder& folder) {
  const std::string pipe = folder.file("trace.csv");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  write_file(folder.file("s.json"), R"({"workload": {"trace": "trace.csv"}, "engine": {"name": "vllm-v1"}})");
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    const int out = open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(out, STDOUT_FILENO);
    std::vector<char*> argv;
    std::vector<std::string> all{"kvplan", arguments[0], folder.file("s.json")};
    all.insert(all.end(), arguments.begin() + 1, arguments.end());
    for (std::string& argument : all) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(KVPLAN_PROGRAM_DIR "/kvplan", argv.data());
    _exit(99);
  }
  // The open waits for the reader, which by then watches for signals. The run that follows takes minutes, because the
  // engine is the naive one, or there are many variants.
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (int i = 0; i < 20000; ++i) rows += std::to_string(i) + ",10,5000\n";
  const int writer = open(pipe.c_str(), O_WRONLY);
  ASSERT_GE(writer, 0);
  for (std::size_t at = 0; at < rows.size();) {
    const ssize_t wrote = write(writer, rows.data() + at, rows.size() - at);
    ASSERT_GT(wrote, 0);
    at += static_cast<std::size_t>(wrote);
  }
  close(writer);
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(folder.listing(), "out s.json trace.csv");
  EXPECT_EQ(read_file(folder.file("out")), "");
}

TEST(CliRun, AnInterruptLeavesNothing) {
  const TemporaryFolder folder;
  expect_interrupted(
      {"run", "--step-by-step", "--json", folder.file("r.json"), "--html", folder.file("r.html")}, folder);
}

TEST(CliRun, ProgressIsShownOnATerminal) {
  const TemporaryFolder folder;
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (int i = 0; i < 20000; ++i) rows += std::to_string(i) + ",10,5000\n";
  write_file(folder.file("t.csv"), rows);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string trace = folder.file("t.csv");
    execl(KVPLAN_PROGRAM_DIR "/kvplan", "kvplan", "run", trace.c_str(), "--step-by-step", nullptr);
    _exit(99);
  }
  std::string seen;
  std::array<char, 4096> piece{};
  const auto more = [&] {
    const ssize_t size = read(terminal, piece.data(), piece.size());
    if (size > 0) seen.append(piece.data(), static_cast<std::size_t>(size));
    return size > 0;
  };
  while (seen.find(" of 20,000 requests") == std::string::npos && more()) continue;
  EXPECT_NE(seen.find("\r  "), std::string::npos) << seen;
  kill(child, SIGINT);
  while (more()) continue;
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_NE(seen.find("\r\033[Kkvplan: "), std::string::npos) << "the line is wiped before the error";
  EXPECT_NE(seen.find("interrupted"), std::string::npos);
}

TEST(CliCompare, AnInterruptLeavesNothing) {
  std::string seeds = "seed=0";
  for (int i = 1; i < 5000; ++i) seeds += ";" + std::to_string(i);
  const TemporaryFolder folder;
  expect_interrupted({"compare", "--threads", "2", "--vary", seeds, "--json", folder.file("r.json"), "--html",
                      folder.file("r.html")},
                     folder);
}

}  // namespace
}  // namespace kvplan::report
