// The golden cases of formats, through the command: every key.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "tests/unit/traces/support.h"

namespace kvplan::formats {
namespace {

namespace dom = simdjson::dom;
using traces::testing::run_kvplan;

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/formats/";

std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden + "cases"))
    if (const std::string name = entry.path().stem().string(); !name.starts_with("analysis"))
      out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

std::string cli_name(std::string_view golden) {
  std::string out(golden);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string component(std::string_view name, dom::object params) {
  std::ostringstream out;
  out << cli_name(name);
  char separator = ':';
  for (const auto& [key, value] : params) {
    out << separator << key << '=';
    if (value.is_string()) {
      out << std::string_view(value);
    } else {
      out << simdjson::minify(value);
    }
    separator = ',';
  }
  return out.str();
}

std::string probes(dom::element golden) {
  std::set<std::string> all;
  for (const dom::element checkpoint : dom::array(golden["checkpoints"]))
    for (const dom::element probe : dom::array(checkpoint["probes"])) {
      std::ostringstream text;
      text << std::string_view(probe.at(0));
      for (std::size_t i = 1; i < 4; ++i) text << ',' << simdjson::minify(probe.at(i));
      all.insert(text.str());
    }
  std::string out;
  for (const std::string& probe : all) out.append(" --probe ").append(probe);
  return out;
}

class FormatGolden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    golden_ = expected_parser_.load(kGolden + "cases/" + GetParam() + ".json");
    std::string arguments = "format " + kGolden + std::string(std::string_view(golden_["input"]));
    arguments += " --format " + component(std::string_view(golden_["format"]), golden_["params"]);
    arguments += " --prefill " + simdjson::minify(golden_["prefill_len"]);
    if (!golden_["evict"].is_null())
      arguments +=
          " --evict " + component(std::string_view(golden_["evict"]["policy"]), golden_["evict"]["params"]);
    const auto ran = run_kvplan(arguments + probes(golden_) + " --json -");
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    found_ = found_parser_.parse(ran.out);
    exact_ = std::string_view(golden_["class"]) == "exact";
  }

  static void expect_equal(dom::element found, dom::element golden, const std::string& where) {
    if (golden.is_number()) {
      EXPECT_EQ(double(found), double(golden)) << where;
    } else {
      EXPECT_EQ(simdjson::minify(found), simdjson::minify(golden)) << where;
    }
  }
  void expect_near(dom::element found, dom::element golden, const std::string& where) const {
    const double tolerance = exact_ ? 1e-9 : 1e-8;
    const double wanted = golden;
    EXPECT_NEAR(double(found), wanted, tolerance + tolerance * std::fabs(wanted)) << where;
  }
  void expect_all_near(dom::element found, dom::element golden, const std::string& where) const {
    const dom::array wanted = golden;
    ASSERT_EQ(dom::array(found).size(), wanted.size()) << where;
    for (std::size_t i = 0; i < wanted.size(); ++i) expect_near(found.at(i), wanted.at(i), where);
  }
  void expect_state(dom::element found, dom::element golden, const std::string& where) const {
    for (const char* key : {"tokens", "first_pos", "encoded", "xhat_fnv", "codes_fnv"})
      expect_equal(found[key], golden[key], where + key);
    for (const char* key : {"max_abs_error", "mean_abs_error", "relative_frobenius"})
      expect_near(found[key], golden[key], where + key);
  }
  void expect_probe(dom::element found, dom::element golden, const std::string& where) const {
    for (std::size_t i = 0; i < 9; ++i) {
      if (i == 5 && !exact_) {
        expect_near(found.at(i), golden.at(i), where);
      } else if (golden.at(i).is_number() && found.at(i).is_number()) {
        EXPECT_EQ(double(found.at(i)), double(golden.at(i))) << where << i;
      } else {
        EXPECT_EQ(simdjson::minify(found.at(i)), simdjson::minify(golden.at(i))) << where << i;
      }
    }
  }

  dom::parser expected_parser_;
  dom::parser found_parser_;
  dom::element golden_;
  dom::element found_;
  bool exact_{false};
};

TEST_P(FormatGolden, HeadAndBytes) {
  for (const char* key : {"format", "prefill_len", "class", "byte_columns", "after_prefill"})
    expect_equal(found_[key], golden_[key], key);
  for (const auto& [key, value] : dom::object(golden_["params"]))
    expect_equal(found_["params"][key], value, std::string(key));
  if (golden_["evict"].is_null()) {
    EXPECT_TRUE(found_["evict"].is_null());
  } else {
    expect_equal(found_["evict"]["policy"], golden_["evict"]["policy"], "evict");
    for (const auto& [key, value] : dom::object(golden_["evict"]["params"]))
      expect_equal(found_["evict"]["params"][key], value, std::string(key));
  }
  for (const auto& [key, value] : dom::object(golden_["summary"])) {
    const std::string where = "summary " + std::string(key);
    if (value.is_int64()) {
      expect_equal(found_["summary"][key], value, where);
    } else {
      expect_near(found_["summary"][key], value, where);
    }
  }
}

TEST_P(FormatGolden, Steps) {
  const dom::array golden = golden_["steps"];
  ASSERT_EQ(dom::array(found_["steps"]).size(), golden.size());
  ASSERT_GT(golden.size(), 0U);
  for (std::size_t i = 0; i < golden.size(); ++i) {
    const std::string where = "step " + std::to_string(i) + " ";
    const dom::element found = found_["steps"].at(i);
    for (const char* key : {"t", "bytes", "total_at_attend"})
      expect_equal(found[key], golden.at(i)[key], where + key);
    for (const char* key : {"output_error", "logit_error"})
      expect_all_near(found[key], golden.at(i)[key], where + key);
  }
}

TEST_P(FormatGolden, WhatIsStored) {
  for (std::size_t c = 0; c < 2; ++c) {
    const dom::element golden = golden_["checkpoints"].at(c);
    const dom::element found = found_["checkpoints"].at(c);
    expect_equal(found["after"], golden["after"], "after");
    for (const char* side : {"K", "V"}) {
      const dom::array heads = golden[side];
      ASSERT_EQ(dom::array(found[side]).size(), heads.size());
      for (std::size_t h = 0; h < heads.size(); ++h)
        expect_state(found[side].at(h), heads.at(h), std::string(side) + std::to_string(h) + " ");
    }
    std::map<std::string, dom::element> shown;
    const auto place = [](dom::element probe) {
      std::string text;
      for (std::size_t i = 0; i < 4; ++i) text += simdjson::minify(probe.at(i)) + ",";
      return text;
    };
    for (const dom::element probe : dom::array(found["probes"]))
      if (!probe.is_null()) shown.emplace(place(probe), probe);
    ASSERT_GT(dom::array(golden["probes"]).size(), 0U);
    for (const dom::element probe : dom::array(golden["probes"])) {
      const auto at = shown.find(place(probe));
      ASSERT_NE(at, shown.end()) << place(probe);
      expect_probe(at->second, probe, place(probe));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatGolden, testing::ValuesIn(cases()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace kvplan::formats
