// kvplan attention plot: its outputs, and what it refuses.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <sstream>

#include "simulator/base/json_writer.h"
#include "simulator/survey/figures.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/traces/support.h"

namespace kvplan::survey {
namespace {

namespace dom = simdjson::dom;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

const std::string kTensors = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/formats/inputs/A.json";
const std::string kRows = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/policies/inputs/A.json";

/// A number of the JSON as CSV writes it.
std::string csv_number(dom::element value) {
  return value.is_null() ? "" : shortest(double(value));
}

/// Key of a line (all but the value) to its value.
std::map<std::string, std::string> lines_of(const std::string& csv) {
  std::map<std::string, std::string> out;
  std::istringstream in(csv);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "figure,layer,head,other_layer,other_head,query,token,point,value");
  while (std::getline(in, line)) {
    const std::size_t comma = line.rfind(',');
    EXPECT_TRUE(out.emplace(line.substr(0, comma), line.substr(comma + 1)).second) << line;
  }
  return out;
}

/// Checks that every number of the JSON is a line of the CSV, and that there are no others.
void expect_same_numbers(dom::element json, std::map<std::string, std::string> csv) {
  const auto take = [&](const std::string& key, dom::element value) {
    const auto at = csv.find(key);
    ASSERT_NE(at, csv.end()) << key;
    EXPECT_EQ(at->second, csv_number(value)) << key;
    csv.erase(at);
  };
  const auto text = [](dom::element number) { return std::to_string(std::int64_t(number)); };
  std::vector<std::string> layers;
  for (const dom::element layer : dom::array(json["layers"])) {
    layers.push_back(text(layer["layer"]));
    for (const char* side : {"query_head_figures", "kv_head_figures"})
      for (const auto& [key, values] : dom::object(layer[side])) {
        if (values.is_null()) continue;
        int head = 0;
        for (const dom::element value : dom::array(values))
          take(std::string(key) + "," + layers.back() + "," + std::to_string(head++) + ",,,,,", value);
      }
    for (const dom::element curve : dom::array(json["curves"])) {
      const auto key = std::string(std::string_view(curve["key"]));
      const char* side = std::string_view(curve["per"]) == "kv_head" ? "kv_head_curves" : "query_head_curves";
      if (layer[side][key].is_null()) continue;
      int head = 0;
      for (const dom::element values : dom::array(layer[side][key])) {
        const std::string before = key + "," + layers.back() + "," + std::to_string(head++) + ",,,,,";
        std::size_t p = 0;
        for (const dom::element value : dom::array(values))
          take(before + text(curve["points"].at(p++)), value);
        EXPECT_EQ(p, dom::array(curve["points"]).size());
      }
    }
    int a = 0;
    if (!layer["head_overlap"].is_null())
      for (const dom::element row : dom::array(layer["head_overlap"])) {
        int b = 0;
        for (const dom::element value : dom::array(row))
          take("head_overlap," + layers.back() + "," + std::to_string(a) + "," + layers.back() + "," +
                   std::to_string(b++) + ",,,",
               value);
        ++a;
      }
  }
  std::size_t a = 0;
  for (const dom::element row : dom::array(json["layer_overlap"])) {
    std::size_t b = 0;
    for (const dom::element value : dom::array(row))
      take("layer_overlap," + layers[a] + ",," + layers[b++] + ",,,,", value);
    ++a;
  }
  take("overlap_by_chance,,,,,,,", json["overlap_by_chance"]);
  const dom::element map = json["attention_map"];
  const std::int64_t per = std::int64_t(map["tokens_per_cell"]);
  std::int64_t r = 0;
  for (const dom::element row : dom::array(map["cells"])) {
    std::int64_t c = 0;
    for (const dom::element value : dom::array(row))
      take("attention_map," + text(map["layer"]) + "," + text(map["head"]) + ",,," + std::to_string(r * per) +
               "," + std::to_string(c++ * per) + ",",
           value);
    ++r;
  }
  EXPECT_TRUE(csv.empty()) << csv.begin()->first;
}

TEST(AttentionPlot, CsvHasTheNumbersOfTheJson) {
  const TemporaryFolder folder;
  for (const std::string& input : {kTensors, kRows}) {
    SCOPED_TRACE(input);
    const auto ran = run_kvplan("attention plot " + input + " --json - -o " + folder.file("x.csv"));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    dom::parser parser;
    expect_same_numbers(parser.parse(ran.out), lines_of(read_file(folder.file("x.csv"))));
  }
}

TEST(AttentionPlot, OfOneSequenceIsWhatAnalyseSays) {
  dom::parser a;
  dom::parser b;
  const auto plot = run_kvplan("attention plot " + kTensors + " --json -");
  const auto analyse = run_kvplan("attention analyse " + kTensors + " --json -");
  ASSERT_EQ(plot.exit_code, 0) << plot.err;
  ASSERT_EQ(analyse.exit_code, 0) << analyse.err;
  const dom::element found = a.parse(plot.out)["layers"].at(0);
  const dom::element wanted = b.parse(analyse.out);
  const dom::element heads = found["query_head_figures"];
  std::size_t h = 0;
  for (const dom::element head : dom::array(wanted["attention"])) {
    for (const auto& [key, of_analyse] :
         std::map<std::string, std::string>{{"sparsity_full", "sparsity_full"},
                                            {"sparsity_causal", "sparsity_causal"},
                                            {"entropy", "mean_entropy"},
                                            {"relative_entropy", "mean_relative_entropy"},
                                            {"map_effective_rank", "effective_rank"},
                                            {"map_stable_rank", "stable_rank"},
                                            {"sink_mass", "sink_mass"}})
      EXPECT_NEAR(double(heads[key].at(h)), double(head[of_analyse]), 1e-12) << key;
    ++h;
  }
  h = 0;
  for (const char* side : {"K", "V"}) {
    const std::string name = side[0] == 'K' ? "key" : "value";
    const dom::element of = found["kv_head_figures"];
    h = 0;
    for (const dom::element head : dom::array(wanted[side])) {
      EXPECT_EQ(double(of[name + "_effective_rank"].at(h)), double(head["effective_rank"]));
      EXPECT_DOUBLE_EQ(double(of[name + "_stable_rank"].at(h)), double(head["stable_rank"]));
      const std::string channels = "4";  // an eighth of 32
      EXPECT_DOUBLE_EQ(double(of[name + "_tail_eighth"].at(h)), double(head["spectral_tail"][channels]));
      ++h;
    }
  }
  EXPECT_GT(h, 0U);
}

/// The largest mass that any choice can have equals that of the oracle's replay, head by head.
TEST(AttentionPlot, TopMassIsThatOfTheOracle) {
  const std::string sample = std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva";
  const auto plot = run_kvplan("attention plot " + sample + " --sequences 7 --json -");
  ASSERT_EQ(plot.exit_code, 0) << plot.err;
  dom::parser a;
  const dom::element heads = a.parse(plot.out)["layers"].at(2)["query_head_curves"]["top_mass"];
  for (const std::size_t point : {0U, 3U, 5U}) {
    const auto evict =
        run_kvplan("evict " + sample + " --sequence 7 --layer 2 --prefill 64 --policy oracle-topk:" +
                   "group=1,k=" + std::to_string(1 << point) + " --json -");
    ASSERT_EQ(evict.exit_code, 0) << evict.err;
    dom::parser b;
    double sum = 0;
    for (const dom::element head : dom::array(heads)) sum += double(head.at(point));
    EXPECT_NEAR(sum / static_cast<double>(dom::array(heads).size()),
                double(b.parse(evict.out)["summary"]["mean_attended_mass"]), 1e-12);
  }
}

TEST(AttentionPlot, PicturesAreWellFormed) {
  const TemporaryFolder folder;
  const auto svg = run_kvplan("attention plot " + kTensors + " -o " + folder.file("x.svg"));
  ASSERT_EQ(svg.exit_code, 0) << svg.err;
  EXPECT_EQ(svg.out, "") << "tables are what is printed without an output";
  EXPECT_EQ(report::testing::parse_xml(read_file(folder.file("x.svg"))).name, "svg");
  ASSERT_EQ(run_kvplan("attention plot " + kTensors + " -o " + folder.file("x.html")).exit_code, 0);
  const std::string page = read_file(folder.file("x.html"));
  const auto root = report::testing::parse_xml(page);
  EXPECT_GT(root.named("svg").size(), 10U);
  for (const char* outside : {"<script", "src=", "href=\"http"})
    EXPECT_EQ(page.find(outside), std::string::npos);
  const auto one =
      run_kvplan("attention plot " + kTensors + " --maps entropy,attention -o " + folder.file("y.svg"));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(report::testing::parse_xml(read_file(folder.file("y.svg"))).named("g").size(), 2U);
}

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return out;
}

/// If kvplan was built without librsvg, one line says what to install.
TEST(AttentionPlot, PngIsTheSheetInItsSizeOrOneLine) {
  const TemporaryFolder folder;
  const std::string maps = " --maps entropy,heavy_share ";
  ASSERT_EQ(run_kvplan("attention plot " + kTensors + maps + "-o " + folder.file("x.svg")).exit_code, 0);
  const auto ran = run_kvplan("attention plot " + kTensors + maps + "-o " + folder.file("x.png"));
  if (ran.exit_code != 0) {
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.err.find("install Debian's librsvg2"), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
    EXPECT_EQ(folder.listing(), "x.svg");
    GTEST_SKIP() << "no librsvg: " << ran.err;
  }
  const std::string bytes = read_file(folder.file("x.png"));
  ASSERT_GT(bytes.size(), 1000U);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(bytes.substr(12, 4), "IHDR");
  EXPECT_EQ(bytes.substr(bytes.size() - 8, 4), "IEND");
  std::istringstream box(
      report::testing::parse_xml(read_file(folder.file("x.svg"))).attributes.at("viewBox"));
  double zero = 0;
  double width = 0;
  double height = 0;
  box >> zero >> zero >> width >> height;
  EXPECT_EQ(number_at(bytes, 16), static_cast<std::uint32_t>(width));
  EXPECT_EQ(number_at(bytes, 20), static_cast<std::uint32_t>(height));
  const auto dark =
      run_kvplan("attention plot " + kTensors + maps + "--theme dark -o " + folder.file("d.png"));
  ASSERT_EQ(dark.exit_code, 0) << dark.err;
  EXPECT_NE(read_file(folder.file("d.png")), bytes);
}

TEST(AttentionPlot, PrintsTables) {
  const auto ran = run_kvplan("attention plot " + kTensors);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* word : {"Where attention goes", "Heavy tokens", "Keys, mean over KV heads", "layer 0",
                           "Each figure is for one"})
    EXPECT_NE(ran.out.find(word), std::string::npos) << word;
  EXPECT_EQ(ran.out.find("heads of layer"), std::string::npos);
  const auto heads = run_kvplan("attention plot " + kTensors + " --layer 0");
  ASSERT_EQ(heads.exit_code, 0) << heads.err;
  EXPECT_NE(heads.out.find("Heavy tokens, heads of layer 0"), std::string::npos);
  EXPECT_NE(heads.out.find("head 1"), std::string::npos);
}

TEST(AttentionPlot, RanksOfAttentionAreOfShortSequences) {
  const auto none = run_kvplan("attention plot " + kTensors + " --rank-tokens 0 --json -");
  ASSERT_EQ(none.exit_code, 0) << none.err;
  EXPECT_NE(none.out.find(R"("map_effective_rank":[null)"), std::string::npos);
  EXPECT_NE(none.err.find("--rank-tokens"), std::string::npos) << none.err;
  EXPECT_EQ(run_kvplan("attention plot " + kTensors + " --rank-tokens 2049").exit_code, 2);
}

TEST(AttentionPlot, AnyNumberOfThreadsGivesTheSameBytes) {
  const auto one = run_kvplan("attention plot " + kTensors + " --threads 1 --json -");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(run_kvplan("attention plot " + kTensors + " --threads 5 --json -").out, one.out);
}

TEST(AttentionPlot, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& asked, const std::string& words) {
    const auto ran = run_kvplan("attention plot " + kTensors + " " + asked);
    EXPECT_EQ(ran.exit_code, 2) << asked;
    EXPECT_NE(ran.err.find(words), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  };
  refused("-o " + folder.file("x.gif"), ".svg, .html, .csv or .png");
  refused("--sequences 0,7", "expected 0 to 0, found 7");
  refused("--sequences 0,0", "given twice");
  refused("--sequence 3 -o " + folder.file("x.svg"), "expected 0 to 0");
  refused("--layer 5", "--layer");
  refused("--head 99 -o " + folder.file("x.svg"), "--head: expected 0 to ");
  refused("--maps entropie -o " + folder.file("x.svg"), "heads_overlap");
  refused("--theme blue", "light or dark");
  refused("--theme dark -o " + folder.file("x.svg"), "FILE.png");
  refused("--maps entropy -o " + folder.file("x.csv"), "only drawings have maps");
  refused("--head 1", "--head: expected -o FILE or --json FILE: this option selects the head");
  refused("--sequence 0", "--sequence: expected -o FILE or --json FILE: this option selects the head");
  EXPECT_EQ(folder.listing(), "");
}

}  // namespace
}  // namespace kvplan::survey
