// Each rule finds its violation, on the right line, and accepts the most similar correct text.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {
namespace {

/// "path:line" of each finding.
std::vector<std::string> places(const Findings& findings) {
  std::vector<std::string> result;
  for (const auto& finding : findings) result.push_back(finding.path + ":" + std::to_string(finding.line));
  return result;
}
using Places = std::vector<std::string>;

std::string include(const std::string& path) {
  return "#include \"" + path + "\"\n";
}

TEST(TidyRules, CommentsAndLiteralsAreTold) {
  EXPECT_EQ(without_comments("a // b\nc /* d\ne */ f", false), "a     \nc     \n     f");
  EXPECT_EQ(without_comments("a \"//\" b", false), "a \"//\" b");
  EXPECT_EQ(without_comments("a \"x\\\"//\" b", true), "a         b");
  EXPECT_EQ(without_comments("1'000'000 'x' '\\'' y", true), "1'000'000          y");
  EXPECT_EQ(without_comments("R\"-(a)\" // -)-\" b", true), "                b");
}

TEST(TidyRules, LayersGoOneWay) {
  const File base{"simulator/base/units.h", ""};
  const File core{"simulator/core/engine.h", include("simulator/base/units.h")};
  EXPECT_TRUE(check_layers({base, core}).empty());
  const File upward{"simulator/base/units.cpp", "\n" + include("simulator/core/engine.h")};
  EXPECT_EQ(places(check_layers({base, core, upward})), Places{"simulator/base/units.cpp:2"});
  const File sideways{"simulator/memory/paged.cpp", include("simulator/observe/ledger.h")};
  EXPECT_EQ(places(check_layers({sideways, {"simulator/observe/ledger.h", ""}})),
            Places{"simulator/memory/paged.cpp:1"});
  const auto may = [](const std::string& from, const std::string& to) {
    return check_layers({{from, include(to)}, {to, ""}}).empty();
  };
  EXPECT_TRUE(may("traces/io/a.cpp", "simulator/frame/frame.h"));
  EXPECT_FALSE(may("traces/io/a.cpp", "simulator/run/run.h"));
  EXPECT_FALSE(may("traces/edit/a.cpp", "traces/io/kvt.h"));
  EXPECT_TRUE(may("traces/synth/a.cpp", "traces/import/open_trace.h"));
  EXPECT_FALSE(may("simulator/io/a.cpp", "traces/import/open_trace.h"));
  EXPECT_FALSE(may("simulator/io/a.cpp", "simulator/report/text.h"));
  EXPECT_FALSE(may("simulator/cli/a.cpp", "gui/app/options.h"));
  EXPECT_TRUE(may("gui/view/a.cpp", "gui/worker/worker.h"));
  EXPECT_FALSE(may("gui/viewmodel/a.cpp", "gui/view/window.h"));
  const File not_from_root{"simulator/core/engine.cpp", include("engine.h")};
  EXPECT_EQ(places(check_layers({core, base, not_from_root})), Places{"simulator/core/engine.cpp:1"});
  const File of_tests{"simulator/core/engine.cpp", include("tests/tidy/rules.h")};
  EXPECT_EQ(places(check_layers({{"tests/tidy/rules.h", ""}, of_tests})),
            Places{"simulator/core/engine.cpp:1"});
  EXPECT_EQ(places(check_layers({{"simulator/elsewhere/a.h", ""}})), Places{"simulator/elsewhere/a.h:0"});
  const File commented{"simulator/base/a.cpp", "// " + include("simulator/core/engine.h")};
  EXPECT_TRUE(check_layers({base, core, commented}).empty());
}

TEST(TidyRules, LinksFollowTheLayers) {
  const std::string good =
      "kvplan_library(kvplan_base simulator/base)\nkvplan_library(kvplan_core simulator/core kvplan_base)\n";
  EXPECT_TRUE(check_links({{"simulator/CMakeLists.txt", good}}).empty());
  const std::string bad =
      "kvplan_library(kvplan_base simulator/base\n  kvplan_core)\nkvplan_library(kvplan_core "
      "simulator/core)\n";
  EXPECT_EQ(places(check_links({{"simulator/CMakeLists.txt", bad}})), Places{"simulator/CMakeLists.txt:1"});
  const File program{"validator/CMakeLists.txt", "\nkvplan_program(kvplan-validate validator kvplan_core)\n"};
  EXPECT_EQ(places(check_links({{"simulator/CMakeLists.txt", good}, program})),
            Places{"validator/CMakeLists.txt:2"});
}

TEST(TidyRules, ReplaySharesNoCodeWithWhatItChecks) {
  const File reader{"simulator/io/log/reader.h", include("simulator/base/result.h")};
  const File replay{"validator/replay.cpp",
                    include("validator/replay.h") + include("simulator/io/log/reader.h")};
  const File header{"validator/replay.h", ""};
  const File result{"simulator/base/result.h", ""};
  EXPECT_TRUE(check_replay_is_apart({reader, replay, header, result}).empty());
  EXPECT_TRUE(check_layers({reader, replay, header, result}).empty());
  // Not directly, but through the reader.
  const File leaking{"simulator/io/log/reader.h", include("simulator/core/block_pool.h")};
  EXPECT_EQ(places(check_replay_is_apart({leaking, replay, header, result})),
            Places{"validator/replay.cpp:0"});
  const File writer{"simulator/io/event_log_writer.h", ""};
  const File through_writer{"validator/replay.cpp", include("simulator/io/event_log_writer.h")};
  EXPECT_EQ(places(check_layers({writer, through_writer})), Places{"validator/replay.cpp:1"});
  const File reader_of_core{"simulator/io/log/reader.cpp", include("simulator/core/block_pool.h")};
  EXPECT_EQ(places(check_layers({reader_of_core, {"simulator/core/block_pool.h", ""}})),
            Places{"simulator/io/log/reader.cpp:1"});
  const File direct{"validator/replay.cpp", include("simulator/core/block_pool.h")};
  EXPECT_EQ(places(check_layers({direct, {"simulator/core/block_pool.h", ""}})),
            Places{"validator/replay.cpp:1"});
}

TEST(TidyRules, NaiveEnginesShareNoCodeWithFastOnes) {
  const std::string room = "simulator/scheduling/vllm/";
  const File naive{room + "naive_replica.cpp",
                   include(room + "naive_parts.h") + include(room + "replicas.h")};
  const File parts{room + "naive_parts.h", include(room + "params.h") + include("simulator/core/replica.h")};
  const File params{room + "params.h", ""}, batch{room + "batch.h", ""};
  const File replicas{room + "replicas.h", include("simulator/core/replica.h")};
  EXPECT_TRUE(check_naive_is_apart({naive, parts, params, batch, replicas}).empty());
  for (const std::string& shared : {room + "batch.h", std::string("simulator/prefix/radix_pool.h"),
                                    std::string("simulator/memory/allocator_paged.h")}) {
    const File leaking{room + "replicas.h", include(shared)};
    EXPECT_EQ(places(check_naive_is_apart({naive, parts, params, batch, leaking})),
              Places{room + "naive_replica.cpp:0"});
  }
}

TEST(TidyRules, LibrariesStayWhereTheyBelong) {
  const auto found = [](const std::string& path, const std::string& line) {
    return !check_libraries({{path, line + "\n"}}).empty();
  };
  EXPECT_TRUE(found("simulator/core/a.cpp", "#include \"proto/trace.pb.h\""));
  EXPECT_TRUE(found("simulator/cli/a.cpp", "#include <google/protobuf/message.h>"));
  EXPECT_FALSE(found("traces/io/a.cpp", "#include \"proto/trace.pb.h\""));
  EXPECT_FALSE(found("simulator/io/log/reader.cpp", "#include \"proto/event_log.pb.h\""));
  EXPECT_TRUE(found("validator/replay.cpp", "#include \"proto/event_log.pb.h\""));
  EXPECT_TRUE(found("simulator/run/a.h", "#include <boost/graph/adjacency_list.hpp>"));
  EXPECT_FALSE(found("simulator/run/a.cpp", "#include <boost/graph/adjacency_list.hpp>"));
  EXPECT_TRUE(found("simulator/core/a.cpp", "#include <cuda_runtime.h>"));
  EXPECT_FALSE(found("validator/a.cu", "#include <cub/cub.cuh>"));
  EXPECT_TRUE(found("simulator/cli/a.cpp", "#include <QString>"));
  EXPECT_TRUE(found("simulator/cli/a.cpp", "#include <CLI/CLI.hpp>"));
  EXPECT_TRUE(found("simulator/cli/options.h", "#include <CLI/CLI.hpp>"));
  EXPECT_FALSE(found("simulator/cli/options.cpp", "#include <CLI/CLI.hpp>"));
  EXPECT_FALSE(found("gui/a.h", "#include <QString>"));
  EXPECT_TRUE(found("simulator/survey/a.cpp", "#include <librsvg/rsvg.h>"));
  EXPECT_FALSE(found("simulator/picture/a.cpp", "#include <cairo.h>"));
  EXPECT_TRUE(found("simulator/picture/a.h", "#include <cairo.h>"));
  EXPECT_TRUE(found("traces/io/a.h", "#include <zstd.h>"));
  EXPECT_FALSE(found("traces/io/a.cpp", "#include <zstd.h>"));
  EXPECT_TRUE(found("simulator/core/a.cpp", "#include <fstream>"));
  EXPECT_FALSE(found("simulator/io/a.cpp", "#include <fstream>"));
  EXPECT_FALSE(found("simulator/core/a.cpp", "// #include <fstream>"));
}

TEST(TidyRules, BannedCalls) {
  for (const auto* line : {"int x = rand();", "srand(1);", "auto t = std::time(nullptr);", "time( NULL )",
                           "std::chrono::system_clock::now()", "std::random_device d;", "std::mt19937_64 g;",
                           "std::uniform_int_distribution<int> d;", "std::shuffle(a, b, g);"}) {
    EXPECT_EQ(check_calls({{"simulator/core/a.cpp", line}}).size(), 1U) << line;
    EXPECT_TRUE(check_calls({{"tests/unit/a.cpp", line}}).empty()) << line;
    EXPECT_TRUE(check_calls({{"simulator/core/a.cpp", std::string("// ") + line}}).empty()) << line;
  }
  for (const auto* line :
       {"operand(1);", "step_time(0)", "say(\"rand()\");", "steady_clock::now()", "random.below(3)"}) {
    EXPECT_TRUE(check_calls({{"simulator/core/a.cpp", line}}).empty()) << line;
  }
}

TEST(TidyRules, Lines) {
  const std::string longest(120, 'x');
  EXPECT_TRUE(check_lines({{"a.cpp", longest + "\n"}}).empty());
  EXPECT_EQ(places(check_lines({{"a.cpp", "\n" + longest + "x\n"}})), Places{"a.cpp:2"});
  std::string accents;
  for (int i = 0; i < 120; ++i) accents += "\u00e9";
  EXPECT_TRUE(check_lines({{"a.cpp", accents + "\n"}}).empty());
  EXPECT_EQ(places(check_lines({{"a.cpp", "x \n"}})), Places{"a.cpp:1"});
  EXPECT_EQ(places(check_lines({{"a.cpp", "x\r\n"}})), Places{"a.cpp:1"});
  EXPECT_EQ(places(check_lines({{"a.cpp", "\tx\n"}})), Places{"a.cpp:1"});
  EXPECT_EQ(places(check_lines({{"a.cpp", "x"}})), Places{"a.cpp:0"});
  EXPECT_EQ(places(check_lines({{"a.cpp", "x\n\n"}})), Places{"a.cpp:0"});
}

TEST(TidyRules, MarksOfUnfinishedWork) {
  for (const auto& line : {std::string("// TO") + "DO: later", std::string("FIX") + "ME",
                           std::string("is not ") + "implemented yet", std::string("a place") + "holder"}) {
    EXPECT_EQ(places(check_marks({{"README.md", "\n" + line}})), Places{"README.md:2"}) << line;
  }
  EXPECT_TRUE(check_marks({{"a.cpp",
                            "edit->setPlace"
                            "holderText(); mkstemp(\"aXXXX"
                            "XX\");"}})
                  .empty());
}

TEST(TidyRules, Sizes) {
  EXPECT_TRUE(check_sizes({{"a.cpp", std::string(500, '\n')}}).empty());
  EXPECT_EQ(places(check_sizes({{"a.cpp", std::string(501, '\n')}})), Places{"a.cpp:0"});
}

TEST(TidyRules, Headers) {
  EXPECT_TRUE(check_headers({{"a.h", "// What.\n#pragma once\n"}}).empty());
  EXPECT_EQ(places(check_headers({{"a.h", "// #pragma once\n"}})), Places{"a.h:0"});
  EXPECT_EQ(places(check_headers({{"a.h", "#pragma once\nusing namespace std;\n"}})), Places{"a.h:2"});
  EXPECT_TRUE(check_headers({{"a.cpp", "using namespace std::literals;\n"}}).empty());
}

TEST(TidyRules, EnginesKeepTheirParameters) {
  const std::string reads = "auto a = s.engine.integer(\"max_seqs\");\n";
  const File engine{"simulator/scheduling/a/engine.cpp",
                    "    {.name = \"context_length\",\n    {.name = \"policy\",\n"};
  EXPECT_EQ(places(check_engines({{"simulator/run/a.cpp", "\n" + reads}})), Places{"simulator/run/a.cpp:2"});
  EXPECT_TRUE(check_engines({{"simulator/scheduling/a.cpp", reads}, {"tests/a.cpp", reads}}).empty());
  EXPECT_TRUE(
      check_engines({{"simulator/run/a.cpp", "auto a = s.engine_traits().running.value;\n"}}).empty());
  const std::string told = "auto a = \"longer than context_length\";\n";
  EXPECT_EQ(places(check_engines({engine, {"simulator/report/a.cpp", told}})),
            Places{"simulator/report/a.cpp:1"});
  EXPECT_TRUE(check_engines({engine, {"simulator/cli/a.cpp", told}}).empty());
  EXPECT_TRUE(
      check_engines({engine, {"simulator/report/a.cpp", "auto a = \"what the policy says\";\n"}}).empty());
}

TEST(TidyRules, MembersAreAskedForTraitsNotNames) {
  const File engine{"simulator/scheduling/a/engine.cpp", "{.family = \"engine\",\n  .name = \"sglang\","};
  const File policy{"simulator/attention/full.cpp", "{.family = kFamily, .name = \"full\","};
  const auto found = [&](const std::string& path, const std::string& text) {
    return places(check_members({engine, policy, {path, text}}));
  };
  EXPECT_EQ(found("simulator/run/a.cpp", "\nif (name == \"sglang\") {}\n"), Places{"simulator/run/a.cpp:2"});
  EXPECT_EQ(found("simulator/run/a.cpp", "// \"sglang\"\n"), Places{});
  EXPECT_EQ(found("simulator/scheduling/b.cpp", "if (name == \"sglang\") {}\n"), Places{});
  EXPECT_EQ(found("simulator/scenario/scenario_fields.cpp", ".fallback = \"sglang\"\n"), Places{});
  EXPECT_EQ(found("tests/a.cpp", "if (name == \"sglang\") {}\n"), Places{});
  // Where a name is also a word, a member must not be asked for by it.
  EXPECT_EQ(found("simulator/run/a.cpp", "found(\"full\");\n"), Places{});
  EXPECT_EQ(found("simulator/run/a.cpp", "if (s.eviction.name() != \"full\") {}\n"),
            Places{"simulator/run/a.cpp:1"});
}

TEST(TidyRules, ThingsAreNotPeople) {
  const auto findings = [](const std::string& path, const std::string& line) {
    return places(check_words({{path, "\n" + line + "\n"}}));
  };
  const std::string path = "simulator/core/a.h";
  for (const char* line : {"// Nobody holds it.", "/// The request whose block it is.", "auto who = 1;",
                           "text = \"preempts who waits\";", "Whom it waits for."})
    EXPECT_EQ(findings(path, line), Places{path + ":2"}) << line;
  EXPECT_EQ(findings("README.md", "Tells who holds which block."), Places{"README.md:2"});
  // Whole words only.
  EXPECT_TRUE(findings(path, "// the whole block; whosoever(who_is);").empty());
  EXPECT_TRUE(findings("tests/tidy/rules_words.cpp", "\"who\"").empty());
}

/// A code formatter that is run on a page breaks headings, and more.
TEST(TidyRules, HeadingsAreHeadings) {
  EXPECT_TRUE(check_prose({{"README.md", "# A\n\n## B\n```sh\n#c\n```\n"}}).empty());
  EXPECT_EQ(places(check_prose({{"README.md", "# A\n#B\n"}})), Places{"README.md:2"});
}

TEST(TidyRules, LinksInProseLeadSomewhere) {
  const std::string text =
      "[a](simulator/README.md) [b](simulator/README.md#part) [c](simulator) [d](https://example.org/)\n";
  EXPECT_TRUE(check_prose({{"README.md", text}, {"simulator/README.md", "[up](../README.md)\n"}}).empty());
  EXPECT_EQ(places(check_prose({{"README.md", "\n[a](simulator/GONE.md)\n"}, {"simulator/README.md", ""}})),
            Places{"README.md:2"});
  EXPECT_EQ(places(check_prose({{"simulator/README.md", "[up](../../README.md)\n"}, {"README.md", ""}})),
            Places{"simulator/README.md:1"});
}

TEST(TidyRules, FilesNamedInProseAreThere) {
  const auto findings = [](const std::string& page, const std::string& text) {
    return places(check_prose({{page, text}, {"simulator/core/clock.h", ""}, {"traces/io/bytes.h", ""}}));
  };
  const std::string here =
      "`core/clock.h` `simulator/core/clock.h` `traces/io/bytes.h` `other/engine.py` `core/NAME.h`\n";
  EXPECT_EQ(findings("simulator/README.md", here), Places{});
  EXPECT_EQ(findings("traces/README.md", "`io/bytes.h` `core/clock.h`\n"), Places{});
  EXPECT_EQ(findings("simulator/README.md", "\n`core/gone.h`\n"), Places{"simulator/README.md:2"});
  EXPECT_EQ(findings("traces/README.md", "`io/gone.h`\n"), Places{"traces/README.md:1"});
}

TEST(TidyRules, ReadmeCommands) {
  const auto sh = [](const std::string& command) { return "```sh\n" + command + "\n```\n"; };
  const std::string first =
      ".ci/setup kvplan && cmake --build build && build/bin/kvplan run traces/samples/a.kvt";
  const std::string second = ".ci/setup all && cmake --build build && ctest --preset default";
  const auto findings = [&](const std::string& a, const std::string& b) {
    return check_readme({{"README.md", "Text.\n" + sh(a) + "More.\n" + sh(b)},
                         {".ci/run", ".ci/setup all\nctest --preset default\n"},
                         {".ci/setup", ""},
                         {"traces/samples/a.kvt", ""}});
  };
  EXPECT_TRUE(findings(first, second).empty());
  EXPECT_EQ(places(findings(first + "\nls", second)), Places{"README.md:2"});
  EXPECT_EQ(places(findings(first, ".ci/setup all && ctest")), Places{"README.md:6"});
  EXPECT_EQ(places(findings(".ci/setup kvplan && true", second)), Places{"README.md:2"});
  EXPECT_EQ(places(findings(first + " traces/samples/gone.kvt", second)), Places{"README.md:2"});
  EXPECT_EQ(places(check_readme({{"README.md", sh(first)}, {".ci/run", "true\n"}})), Places{"README.md:0"});
}

TEST(TidyRules, NamesOfBaseAreNotHidden) {
  const File base{
      "simulator/base/version.h",
      "namespace kvplan {\n\nconstexpr const char* kVersion = \"1\";\nint ceil_div(int a, int b);\n\n}  "
      "// namespace kvplan\n"};
  const auto findings = [&](const std::string& path, const std::string& text) {
    return places(check_hidden_names({base, {path, text}}));
  };
  const std::string path = "simulator/cli/a.cpp";
  EXPECT_EQ(findings(path, "namespace {\n\nenum Column {\n  kGpu,\n  kVersion,\n};\n\n}  // namespace\n"),
            Places{path + ":5"});
  EXPECT_EQ(
      findings(path, "namespace {\n\nint ceil_div(int a, int b) {\n  return a / b;\n}\n\n}  // namespace\n"),
      Places{path + ":3"});
  EXPECT_TRUE(
      findings(path, "namespace {\n\nenum class Column {\n  kVersion,\n};\n\n}  // namespace\n").empty());
  EXPECT_TRUE(findings(path, "namespace kvplan {\n\nint ceil_div(int a, int b);\n\n}  // namespace kvplan\n")
                  .empty());
}

TEST(TidyRules, ATypeIsDefinedOnce) {
  const File one{"simulator/model/a.h",
                 "namespace kvplan::model {\n\nstruct Kind {\n  int x;\n};\n\n}  // namespace\n"};
  const File two{"simulator/modelfile/b.h",
                 "namespace kvplan::model {\n\nenum class Kind : int {\n  kOne,\n};\n\n}\n"};
  EXPECT_EQ(places(check_types({one, two})), Places{"simulator/modelfile/b.h:3"});
  const File declared{"simulator/modelfile/b.h", "namespace kvplan::model {\nstruct Kind;\n}\n"};
  const File elsewhere{"simulator/modelfile/b.h", "namespace kvplan::runs {\nstruct Kind {\n};\n}\n"};
  const File hidden{"simulator/modelfile/b.cpp",
                    "namespace kvplan::model {\nnamespace {\n\nstruct Kind {\n};\n\n}  // namespace\n}\n"};
  EXPECT_TRUE(check_types({one, declared}).empty());
  EXPECT_TRUE(check_types({one, elsewhere}).empty());
  EXPECT_TRUE(check_types({one, hidden}).empty());
}

}  // namespace
}  // namespace kvplan::tidy
