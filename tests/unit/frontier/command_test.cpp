// kvplan frontier: golden masses, formats compared with kvplan format, outputs, and what is refused.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/traces/support.h"

namespace kvplan::frontier {
namespace {

namespace dom = simdjson::dom;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/";
const std::string kRows = kGolden + "policies/inputs/A.json";
const std::string kTensors = kGolden + "formats/inputs/A.json";

struct Case {
  const char* file;
  const char* policy;
  const char* budget;
};

TEST(FrontierCommand, MassesAreThoseOfTheGoldenCases) {
  const std::vector<Case> cases{{"h2o_A", "h2o", "8"},
                                {"h2o_A_stream", "h2o:recent=5", "8"},
                                {"tova_A", "tova", "8"},
                                {"window_A", "window", "8"},
                                {"streaming_A", "streaming-llm", "16"},
                                {"random_A", "random:seed=12345", "8"},
                                {"lfu_A", "seed-lfu:theta=0.1", "8"},
                                {"proportional_A_max", "seed-proportional:importance=max,fraction=0.1", "16"},
                                {"scissorhands_A", "scissorhands:recent=2,history=10,drop=4", "12"},
                                {"snapkv_A_kernel1", "snapkv:window=4,kernel=1,pooling=max", "12"},
                                // takes no budget: runs once, unchanged
                                {"threshold_A_max", "seed-threshold:importance=max,threshold=0.15", "1"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.file);
    dom::parser a;
    dom::parser b;
    const dom::element golden = a.load(kGolden + "policies/" + each.file + ".json");
    const auto ran =
        run_kvplan("frontier " + kRows + " --json - --policies '" + each.policy + "' --budgets " +
                   each.budget + " --prefill " + std::to_string(std::int64_t(golden["prefill_len"])));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const dom::element point = b.parse(ran.out)["points"].at(0);
    double sum = 0;
    double least = 1;
    std::int64_t count = 0;
    for (const dom::element step : dom::array(golden["steps"]))
      for (const dom::element mass : dom::array(step["attended_mass"])) {
        sum += double(mass);
        least = std::min(least, double(mass));
        ++count;
      }
    EXPECT_EQ(std::string_view(point["policy"]), std::string_view(golden["policy"]));
    EXPECT_NEAR(double(point["mass_mean"]), sum / static_cast<double>(count), 1e-12);
    EXPECT_NEAR(double(point["mass_min"]), least, 1e-12);
    EXPECT_EQ(std::string_view(point["format"]), "full");
    EXPECT_TRUE(point["output_error_mean"].is_null());
    EXPECT_TRUE(point["output_error_p95"].is_null());
    EXPECT_EQ(std::int64_t(point["sequences"]), 1);
    EXPECT_LE(double(point["mass_mean"]), double(point["oracle_mass_mean"]) + 1e-12);
  }
}

TEST(FrontierCommand, TheOracleIsTheGoldenOne) {
  dom::parser a;
  dom::parser b;
  const dom::element golden = a.load(kGolden + "policies/oracle_A.json");
  const auto ran =
      run_kvplan("frontier " + kRows + " --json - --policies oracle-topk --budgets 4,8 --prefill 8");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const dom::element found = b.parse(ran.out);
  int compared = 0;
  for (const dom::element point : dom::array(found["oracle"])) {
    const std::string entries = std::to_string(std::int64_t(point["entries"]));
    dom::element of_entries;
    if (golden["topk_mass"][entries].get(of_entries) != simdjson::SUCCESS) continue;
    ++compared;
    double sum = 0;
    for (const dom::element mass : dom::array(of_entries)) sum += double(mass);
    EXPECT_NEAR(double(point["mass_mean"]), sum / static_cast<double>(dom::array(of_entries).size()), 1e-12);
  }
  EXPECT_EQ(compared, 3) << "4, 8 and 9 entries";
}

TEST(FrontierCommand, FormatsStoreWhatKvplanFormatSays) {
  const std::string evict = "h2o:hh=10,recent=14";
  dom::parser a;
  dom::parser b;
  for (const std::string format :
       {"int-token:bits=4,group=8", "kivi:group=8,residual=8", "fp8", "pyramid-int8:max_len=20,min_size=8"}) {
    SCOPED_TRACE(format);
    const auto ran =
        run_kvplan("frontier " + kTensors + " --policies h2o:recent=14 --budgets 24 --json - --formats '" +
                   format + ";full'");
    const auto alone =
        run_kvplan("format " + kTensors + " --prefill 100 --json - --evict " + evict + " --format " + format);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    ASSERT_EQ(alone.exit_code, 0) << alone.err;
    const dom::element points = a.parse(ran.out)["points"];
    const dom::element expected = b.parse(alone.out);
    const dom::element coded = points.at(0);
    const double beside = double(coded["metadata_bytes_per_token"]);
    EXPECT_DOUBLE_EQ(beside, 24 * 2 * 4 / 160.0) << "an accumulator of 4 bytes";
    EXPECT_DOUBLE_EQ(double(coded["bytes_per_token"]),
                     static_cast<double>(std::int64_t(expected["summary"]["final_bytes"])) / 160 + beside);
    EXPECT_NEAR(double(coded["output_error_mean"]), double(expected["summary"]["mean_output_error"]), 1e-12);
    EXPECT_EQ(std::string_view(coded["format"]), std::string_view(expected["format"]));
    const double kept = double(points.at(1)["mass_mean"]);
    if (format.starts_with("pyramid")) {
      EXPECT_LT(double(coded["mass_mean"]), kept) << "the format drops tokens too";
    } else {
      EXPECT_NEAR(double(coded["mass_mean"]), kept, 1e-12);
    }
    EXPECT_DOUBLE_EQ(double(points.at(1)["bytes_per_token"]), 24 * 2 * (2 * 32 * 2 + 4) / 160.0);
  }
}

TEST(FrontierCommand, WritesAllOutputs) {
  const TemporaryFolder folder;
  const std::string asked =
      "frontier " + kTensors + " --policies 'h2o;full' --budgets 16,32 --formats 'full;fp8'";
  const auto ran = run_kvplan(asked + " --json " + folder.file("x.json") + " --csv " + folder.file("x.csv") +
                              " --html " + folder.file("x.html"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* word : {"bytes/token", "h2o", "fp8", "bounds mass, not error"})
    EXPECT_NE(ran.out.find(word), std::string::npos) << word;
  const std::string csv = read_file(folder.file("x.csv"));
  EXPECT_EQ(csv.substr(0, csv.find('\n'))
                .find("policy,params,format,budget,bytes_per_token,mass_mean,mass_min,"
                      "output_error_mean,output_error_p95,sequences"),
            0U);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 6) << "full stands once for each format";
  const std::string page = read_file(folder.file("x.html"));
  for (const char* word : {"<svg", "mean output error", "h2o, fp8", "kvplan frontier"})
    EXPECT_NE(page.find(word), std::string::npos) << word;
  EXPECT_NE(read_file(folder.file("x.json")).find("\"budget\": null"), std::string::npos);
  const auto json = run_kvplan(asked + " --json -");
  EXPECT_EQ(json.out, read_file(folder.file("x.json")));
  EXPECT_EQ(run_kvplan(asked + " --csv -").out, csv);
}

TEST(FrontierCommand, TakesSeveralRecordingsAndPoliciesOfFiles) {
  const TemporaryFolder folder;
  const auto sets =
      run_kvplan("evict " + kRows + " --prefill 8 --policy tova:budget=8 --json " + folder.file("s"));
  ASSERT_EQ(sets.exit_code, 0) << sets.err;
  dom::parser a;
  const auto ran =
      run_kvplan("frontier " + kRows + " --prefill 8 --budgets 8 --json - --policies 'recorded:file=" +
                 folder.file("s") + ";tova;expr:score=\"last\",scope=layer'");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const dom::element points = a.parse(ran.out)["points"];
  for (const std::size_t i : {0U, 2U})
    EXPECT_DOUBLE_EQ(double(points.at(i)["mass_mean"]), double(points.at(1)["mass_mean"])) << i;
  const auto pooled =
      run_kvplan("frontier " + kRows + " " + kTensors + " --policies tova --budgets 8 --json -");
  ASSERT_EQ(pooled.exit_code, 0) << pooled.err;
  const dom::element point = a.parse(pooled.out)["points"].at(0);
  EXPECT_EQ(std::int64_t(point["sequences"]), 2);
  EXPECT_TRUE(point["output_error_mean"].is_null()) << "one of them has no values";
}

/// The overlap of each query head at each step; it is printed only with the option.
TEST(FrontierCommand, OverlapIsTheMeanOfWhatEvictTells) {
  dom::parser a, b;
  for (const char* policy : {"tova", "h2o:recent=4", "window", "snapkv:window=4,kernel=1,pooling=max"}) {
    const std::string budgeted =
        std::string(policy) + (std::string_view(policy).find(':') == std::string_view::npos ? ":" : ",");
    const std::string own = std::string_view(policy) == "window"          ? "window=12"
                            : std::string_view(policy).starts_with("h2o") ? "hh=8"
                            : std::string_view(policy) == "tova"          ? "budget=12"
                                                                          : "capacity=12";
    const std::string evict = "evict " + kRows + " --prefill 20 --policy '" + budgeted + own + "'";
    const auto plain = run_kvplan(evict + " --json -");
    ASSERT_EQ(plain.exit_code, 0) << plain.err;
    EXPECT_EQ(plain.out.find("overlap"), std::string::npos);
    const auto ran = run_kvplan(evict + " --overlap --json -");
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const dom::element alone = a.parse(ran.out);
    double sum = 0;
    std::int64_t count = 0;
    for (const dom::element step : dom::array(alone["steps"])) {
      EXPECT_EQ(dom::array(step["overlap"]).size(), dom::array(step["attended_mass"]).size());
      for (const dom::element share : dom::array(step["overlap"])) {
        sum += double(share);
        ++count;
      }
    }
    ASSERT_GT(count, 0);
    EXPECT_DOUBLE_EQ(double(alone["summary"]["mean_overlap"]), sum / static_cast<double>(count)) << policy;
    const auto pooled =
        run_kvplan("frontier " + kRows + " --prefill 20 --budgets 12 --json - --policies '" + policy + "'");
    ASSERT_EQ(pooled.exit_code, 0) << pooled.err;
    EXPECT_NEAR(double(b.parse(pooled.out)["points"].at(0)["overlap_mean"]), sum / static_cast<double>(count),
                1e-12)
        << policy;
    const auto text = run_kvplan(evict + " --overlap");
    EXPECT_NE(text.out.find("overlap"), std::string::npos) << text.out;
  }
}

TEST(FrontierCommand, OverlapOfSeveralLayersAndOfPartsThatAreRead) {
  dom::parser a, b;
  const std::string sample = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva";
  const auto all =
      run_kvplan("evict " + sample +
                 " --sequence 7 --prefill 60 --policy tova:budget=32 --all-layers --overlap --json -");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const dom::element report = a.parse(all.out);
  double sum = 0;
  for (const dom::element layer : dom::array(report["layers"]))
    sum += double(layer["summary"]["mean_overlap"]);
  EXPECT_NEAR(double(report["summary"]["mean_overlap"]),
              sum / static_cast<double>(dom::array(report["layers"]).size()), 1e-12);
  // By definition, its queries read the largest weights of all kept tokens.
  const auto part =
      run_kvplan("evict " + kRows + " --prefill 20 --policy oracle-topk:k=8 --overlap --json -");
  ASSERT_EQ(part.exit_code, 0) << part.err;
  EXPECT_TRUE(b.parse(part.out)["summary"]["mean_overlap"].is_null());
}

/// The golden recording has one layer, for which a pyramid has no meaning.
TEST(FrontierCommand, SchemesStandBesideNumbers) {
  const TemporaryFolder folder;
  dom::parser parser;
  const auto ran = run_kvplan("frontier " + kTensors + " --policies 'h2o;full' --budgets 16,24 --budget " +
                              "'uniform;uniform:capacity=20' --json - --csv " + folder.file("x.csv") +
                              " --html " + folder.file("x.html"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const dom::element points = parser.parse(ran.out)["points"];
  ASSERT_EQ(dom::array(points).size(), 6U);
  dom::element none;
  EXPECT_NE(points.at(1)["budget_scheme"].get(none), simdjson::SUCCESS);
  for (const std::size_t i : {0U, 1U}) {
    const dom::element number = points.at(i);
    const dom::element scheme = points.at(i + 2);
    EXPECT_EQ(std::string_view(scheme["budget_scheme"]),
              i == 0 ? "uniform:capacity=16" : "uniform:capacity=24");
    for (const char* key : {"bytes_per_token", "mass_mean", "output_error_mean", "budget"})
      EXPECT_EQ(double(number[key]), double(scheme[key])) << key;
  }
  EXPECT_EQ(std::string_view(points.at(4)["budget_scheme"]), "uniform:capacity=20");
  EXPECT_TRUE(points.at(4)["budget"].is_null());
  EXPECT_DOUBLE_EQ(double(points.at(4)["bytes_per_token"]), 20 * 2 * (2 * 32 * 2 + 4) / 160.0);
  const std::string csv = read_file(folder.file("x.csv"));
  EXPECT_NE(csv.find(",output_error_standard_error,budget_scheme\n"), std::string::npos);
  EXPECT_NE(csv.find(",\"uniform:capacity=20\"\n"), std::string::npos) << csv;
  const std::string page = read_file(folder.file("x.html"));
  for (const char* word : {"h2o, uniform<", "h2o, uniform:capacity=20", "--budget"})
    EXPECT_NE(page.find(word), std::string::npos) << word;
}

TEST(FrontierCommand, RefusesWhatItCannotDo) {
  const auto refused = [](const std::string& arguments, const std::vector<std::string>& words) {
    const auto ran = run_kvplan("frontier " + arguments);
    EXPECT_EQ(ran.exit_code, 2) << arguments;
    EXPECT_TRUE(ran.out.empty()) << arguments;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    for (const std::string& word : words)
      EXPECT_NE(ran.err.find(word), std::string::npos) << arguments << ": " << ran.err;
  };
  const std::string rows = kRows + " --json - ";
  refused(rows + "--policies keyformer --budgets 8", {"--policies", "keyformer", "window", "tova", "snapkv"});
  refused(rows + "--policies duo-attention:gates=x.csv --budgets 8",
          {"x.csv: duo-attention:gates", "cannot open"});
  refused(rows + "--policies 'h2o;nothing' --budgets 8", {"--policies", "nothing"});
  refused(rows + "--policies 'h2o;window:window=8' --budgets 16,4",
          {"--policies", "window:window=8", "--budgets"});
  refused(rows + "--policies 'h2o;h2o' --budgets 8", {"--policies", "h2o is given twice"});
  refused(kRows + " " + rows + "--policies h2o --budgets 8", {"A.json", "expected each recording once"});
  refused(rows + "--policies 'h2o;' --budgets 8", {"--policies", "found nothing"});
  refused(rows + "--policies h2o:bad=1 --budgets 8", {"--policies", "bad"});
  refused(rows + "--policies streaming-llm:sink=9 --budgets 8", {"--budgets", "at least 9", "streaming-llm"});
  for (const char* budgets : {"", "0", "8,", "8,x", "-1", "8,8", "1.5", "99999999999"})
    refused(rows + "--policies h2o --budgets '" + budgets + "'", {"--budgets"});
  refused(rows + "--policies h2o", {"--budgets", "--budget", "or both"});
  refused(rows + "--policies h2o --budget pyramidkv", {"--budget", "pyramidkv:capacity"});
  refused(rows + "--policies h2o --budgets 8 --window-format fp8",
          {"--window-format", "sliding-window layers"});
  refused(rows + "--policies h2o --budgets 8 --window-format 'fp8;full'", {"--window-format", "one format"});
  refused(rows + "--policies h2o --budgets 8 --prefill 65", {"A.json", "--prefill", "64"});
  refused(rows + "--policies h2o --budgets 8 --layer 1", {"A.json", "--layer", "0 to 0"});
  refused(rows + "--policies h2o --budgets 8 --formats fp8", {"A.json", "attention rows"});
  refused(rows + "--policies h2o --budgets 8 --formats nothing", {"--formats", "nothing"});
  refused(rows + "--policies keydiff --budgets 8", {"A.json", "keydiff", "keys"});
  refused(rows + "--policies tova:group=3 --budgets 8", {"A.json", "tova:group"});
  refused(kTensors + " --policies oracle-topk --budgets 8 --formats fp8",
          {"A.json", "oracle-topk", "keeps every"});
  refused(kRows + " --policies h2o --budgets 8 --json - --csv -", {"standard output"});
  refused(kRows + " --policies h2o --budgets 8 --csv " + kRows, {"a different file"});
  refused("/nonexistent.kva --policies h2o --budgets 8", {"/nonexistent.kva"});
  refused("--policies h2o --budgets 8", {"INPUT"});
}

}  // namespace
}  // namespace kvplan::frontier
