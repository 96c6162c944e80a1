// Scenarios in binary form: every path and every component is written and read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "proto/scenario.pb.h"
#include "simulator/io/scenario_file.h"
#include "simulator/io/scenario_json.h"
#include "simulator/io/scenario_message.h"
#include "simulator/results/report.h"
#include "tests/unit/io/document_support.h"

namespace kvplan::io {
namespace {

using runs::FieldKind;
using runs::Origin;
using runs::Setting;

runs::Scenario scenario_of(const std::vector<Setting>& settings) {
  const auto scenario = runs::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return scenario.value();
}

std::vector<Setting> settings_in(std::string_view bytes) {
  traces::Input input = testing::input_of(bytes);
  auto settings = read_scenario(input);
  EXPECT_TRUE(settings.ok()) << settings.error().to_string();
  return std::move(settings).value();
}

/// Checks the fields alone, not whether they can be combined.
void expect_round_trip(const runs::Scenario& scenario) {
  v1::Scenario message;
  const Status filled = fill_message(scenario, message);
  ASSERT_TRUE(filled.ok()) << filled.error().to_string();
  v1::Scenario again;
  ASSERT_TRUE(again.ParseFromString(message.SerializeAsString()));
  const auto settings = settings_of(again);
  ASSERT_TRUE(settings.ok()) << settings.error().to_string();
  std::size_t values = 0;
  for (std::size_t i = 0; i < runs::scenario_fields().size(); ++i) {
    const std::string path(runs::scenario_fields()[i].path);
    const auto found = std::find_if(settings.value().begin(), settings.value().end(),
                                    [&](const Setting& s) { return s.path == path; });
    ASSERT_EQ(found != settings.value().end(), !scenario.texts[i].empty()) << path;
    if (found == settings.value().end()) continue;
    ++values;
    EXPECT_EQ(found->text, scenario.texts[i]) << path;
    EXPECT_EQ(found->origin, scenario.origin(i)) << path;
  }
  EXPECT_EQ(values, settings.value().size()) << "values that no scenario has";
  // The schema has exactly the paths, in order.
  JsonWriter from_message, from_scenario;
  from_message.begin_object();
  EXPECT_TRUE(write_scenario(from_message, again).ok());
  from_message.end_object();
  from_scenario.begin_object();
  runs::write_scenario(from_scenario, scenario);
  from_scenario.end_object();
  EXPECT_EQ(from_message.take(), from_scenario.take());
}

/// A value of a parameter, other than its default if there is another.
std::string other_value(const Param& param) {
  switch (param.kind) {
    case ParamKind::kInteger:
      return std::to_string(static_cast<std::int64_t>(param.low) + 1);
    case ParamKind::kDecimal:
      return parse_decimal("0.2500").value() >= param.low ? "0.2500" : shortest(param.low);
    case ParamKind::kFlag:
      return param.fallback == "true" ? "false" : "true";
    case ParamKind::kText:
      return param.choices.empty() ? "some text" : std::string(param.choices.back());
  }
  return {};
}

TEST(ScenarioBinary, EveryPathAloneAndAllTogether) {
  runs::Scenario all = scenario_of({});
  for (std::size_t i = 0; i < runs::scenario_fields().size(); ++i) {
    const runs::Field& field = runs::scenario_fields()[i];
    runs::Scenario one = scenario_of({});
    std::string text;
    switch (field.kind) {
      case FieldKind::kText:
        text = "text of its own \xFF";  // names of files may be any text
        break;
      case FieldKind::kInteger:
        text = std::to_string(field.high - 1);
        break;
      case FieldKind::kFraction:
        text = "3/4";
        break;
      case FieldKind::kSeconds:
        text = "0.2500";
        break;
      case FieldKind::kPercentiles:
        text = "ttft.p99=2,queue.p99.9=1e-1";
        break;
      case FieldKind::kComponent:
        text = one.texts[i];
        break;
    }
    one.texts[i] = all.texts[i] = text;
    one.sources[i] = all.sources[i] = {runs::Source::From::kGiven};
    SCOPED_TRACE(field.path);
    expect_round_trip(one);
  }
  expect_round_trip(all);
}

TEST(ScenarioBinary, EveryComponentWithEveryParameter) {
  for (std::size_t i = 0; i < runs::scenario_fields().size(); ++i) {
    const runs::Field& field = runs::scenario_fields()[i];
    if (field.kind != FieldKind::kComponent) continue;
    for (const Descriptor* descriptor : runs::family_descriptors(field.family)) {
      std::string text(descriptor->name);
      for (const Param& param : descriptor->params)
        text.append(text.size() == descriptor->name.size() ? ":" : ",")
            .append(param.name)
            .append("=")
            .append(other_value(param));
      SCOPED_TRACE(text);
      const auto choice = parse_component(text, field.family, runs::family_descriptors(field.family));
      ASSERT_TRUE(choice.ok()) << choice.error().to_string();
      runs::Scenario scenario = scenario_of({});
      scenario.texts[i] = choice.value().to_string();
      expect_round_trip(scenario);
    }
  }
}

TEST(ScenarioBinary, ReadAgainItResolvesToTheSame) {
  const std::vector<std::vector<Setting>> cases{
      {},
      {{"workload.trace", "a.kvt", {}, 0}, {"memory.pool_tokens", "04096", {}, 0}},
      {{"memory.pool_blocks", "7", {}, 0}, {"memory.allocator.block_tokens", "8", {}, 0}},
      {{"eviction", "window:window=5", {}, 0}, {"targets.e2e_s", "1e-3", {}, 0}},
      {{"eviction", "h2o:hh=5,recent=5,placement=compact", {}, 0},
       {"budget", "warm-up:ratio=0.5,budget=\"pyramidkv:capacity=40,window=4\"", {}, 0}},
      {{"eviction", "h2o:hh=5,recent=5,placement=compact", {}, 0},
       {"budget", "headkv:capacity=40,scores=[[1,2],[3,4]],window=4", {}, 0}},
      {{"targets.percentiles_s", "ttft.p99=2,queue.p99.9=1e-1", {}, 0}},
      {{"eviction", "none", {}, 0}, {"workload.limit", "none", {}, 0}, {"fleet", "replicas=3", {}, 0}},
      {{"seed", "9223372036854775807", {}, 0},
       {"latency", "affine:base_ns=0.10,token_ns=1e3,context_ns=0", {}, 0}}};
  for (const auto& settings : cases) {
    const runs::Scenario scenario = scenario_of(settings);
    const std::string bytes = testing::scenario_bytes(scenario);
    const runs::Scenario again = scenario_of(settings_in(bytes));
    for (std::size_t i = 0; i < runs::scenario_fields().size(); ++i) {
      EXPECT_EQ(again.origin(i), scenario.texts[i].empty() ? Origin::kDefault : scenario.origin(i))
          << runs::scenario_fields()[i].path;
      if (runs::scenario_fields()[i].kind == FieldKind::kInteger && !scenario.texts[i].empty()) {
        EXPECT_EQ(parse_integer(again.texts[i]), parse_integer(scenario.texts[i]));
      } else {
        EXPECT_EQ(again.texts[i], scenario.texts[i]) << runs::scenario_fields()[i].path;
      }
    }
    EXPECT_EQ(testing::scenario_bytes(again), bytes) << "same content, same bytes";
    // Through JSON: seconds are numbers there, so their digits may change, but not their values.
    const auto json = scenario_json(scenario, "-");
    ASSERT_TRUE(json.ok());
    const auto parsed = parse_scenario(json.value(), "s.json");
    ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
    EXPECT_EQ(scenario_json(scenario_of(parsed.value()), "-").value(), json.value());
  }
}

TEST(ScenarioBinary, ASettingAfterItCountsAndIsGiven) {
  std::vector<Setting> settings = settings_in(testing::scenario_bytes(scenario_of({})));
  settings.push_back({"memory.pool_tokens", "100000", {}, 0});
  settings.push_back({"engine.max_seqs", "3", {}, 0});
  const runs::Scenario scenario = scenario_of(settings);
  EXPECT_EQ(scenario.text("memory.pool_bytes"), "");
  EXPECT_EQ(scenario.pool.tokens, 100000);
  EXPECT_EQ(scenario.engine.integer("max_seqs"), 3);
  EXPECT_EQ(scenario.origin("engine"), Origin::kGiven);
  EXPECT_EQ(scenario.origin("latency"), Origin::kDefault);
}

TEST(ScenarioBinary, FilesCountFromTheFolderOfTheFile) {
  const runs::Scenario scenario = scenario_of({{"workload.trace", "data/t.kvt", {}, 0}});
  const auto trace_of = [&](const std::string& written_for, const std::string& read_at) {
    const std::string bytes = testing::scenario_bytes(scenario, written_for);
    traces::Input input = testing::input_of(bytes, read_at);
    return read_scenario(input).value().front().text;
  };
  EXPECT_EQ(trace_of("data/s.kvs", "s.kvs"), "t.kvt");
  EXPECT_EQ(trace_of("other/deep/s.kvs", "s.kvs"), "../../data/t.kvt");
  EXPECT_EQ(trace_of("-", "s.kvs"), "data/t.kvt");
  for (const char* file : {"s.kvs", "./s.kvs", "data/s.kvs", "other/deep/s.kvs"})
    EXPECT_EQ(trace_of(file, file), "data/t.kvt") << file;
  for (const char* file : {"../s.kvs", "/s.kvs"})
    EXPECT_EQ(std::filesystem::absolute(trace_of(file, file)).lexically_normal(),
              std::filesystem::absolute("data/t.kvt"))
        << file;
  const runs::Scenario recorded = scenario_of(
      {{"workload.attention", "data/a.kva,/b.kva,c.kva", {}, 0}, {"eviction", "h2o:hh=4,recent=4", {}, 0}});
  const std::string bytes = testing::scenario_bytes(recorded, "data/s.kvs");
  EXPECT_EQ(scenario_of(settings_in(bytes)).text("workload.attention"), "a.kva,/b.kva,../c.kva");
  traces::Input at_its_place = testing::input_of(bytes, "data/s.kvs");
  EXPECT_EQ(scenario_of(read_scenario(at_its_place).value()).text("workload.attention"),
            recorded.text("workload.attention"));
  const runs::Scenario measured = scenario_of({{"latency", "calibrated:file=data/c.json", {}, 0}});
  const std::string with_latency = testing::scenario_bytes(measured, "data/s.kvs");
  EXPECT_EQ(scenario_of(settings_in(with_latency)).text("latency"), "calibrated:file=c.json");
  traces::Input beside = testing::input_of(with_latency, "other/s.kvs");
  EXPECT_EQ(scenario_of(read_scenario(beside).value()).text("latency"), "calibrated:file=other/c.json");
  const runs::Scenario absolute = scenario_of({{"workload.trace", "/data/t.kvt", {}, 0}});
  EXPECT_EQ(settings_in(testing::scenario_bytes(absolute, "x/y.kvs")).front().text, "/data/t.kvt");
}

TEST(ScenarioBinary, TheSchemaOnTheWire) {
  // By hand from proto/scenario.proto: field 4 (memory), in it field 2 (pool_tokens), value 300, given; then
  // field 6 (latency): name, and a parameter "a" with the digits "1.50".
  v1::Scenario message;
  message.mutable_memory()->mutable_pool_tokens()->set_value(300);
  message.mutable_memory()->mutable_pool_tokens()->set_origin(v1::GIVEN);
  message.mutable_latency()->set_name("x");
  v1::Parameter& parameter = *message.mutable_latency()->add_parameters();
  parameter.set_name("a");
  parameter.set_decimal("1.50");
  const unsigned char bytes[] = {0x22, 0x07, 0x12, 0x05, 0x08, 0xAC, 0x02, 0x10, 0x01, 0x32, 0x0E, 0x0A, 0x01,
                                 'x',  0x12, 0x09, 0x0A, 0x01, 'a',  0x22, 0x04, '1',  '.',  '5',  '0'};
  EXPECT_EQ(message.SerializeAsString(), std::string(reinterpret_cast<const char*>(bytes), sizeof bytes));
}

std::string error_of(const v1::Scenario& message) {
  return testing::error_of(DocumentKind::kScenario,
                           testing::document(DocumentKind::kScenario, message.SerializeAsString()));
}

TEST(ScenarioBinary, WhatIsNoScenario) {
  v1::Scenario message;
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(900, 1);
  EXPECT_EQ(error_of(message),
            "file: holds values that this version does not know: a later version of kvplan wrote it");
  message.Clear();
  message.mutable_engine()->set_name("vllm-v1:max_seqs=1");
  EXPECT_EQ(error_of(message),
            "file: engine: expected the name of a component, found \"vllm-v1:max_seqs=1\"");
  message.mutable_engine()->set_name("vllm-v1");
  v1::Parameter& parameter = *message.mutable_engine()->add_parameters();
  parameter.set_name("max_seqs");
  EXPECT_EQ(error_of(message), "file: engine: the parameter \"max_seqs\" has no value");
  parameter.set_text("1,token_budget=2");  // one value, which is not a number: resolve reports it
  EXPECT_EQ(error_of(message), "no error");
  parameter.set_text("1\",token_budget=\"2");
  EXPECT_EQ(error_of(message).find("file: engine: expected a parameter, found"), 0U) << error_of(message);
  parameter.set_integer(1);
  EXPECT_EQ(error_of(message), "no error");
  message.mutable_engine()->set_origin(static_cast<v1::Origin>(17));
  EXPECT_EQ(error_of(message), "file: engine: expected the origin GIVEN or DEFAULT, found 17");
}

/// The user's error message for a scenario's text, from reading or resolving it.
std::string json_error(const std::string& text) {
  const auto settings = parse_scenario(text, "s.json");
  if (!settings.ok()) return settings.error().to_string();
  const auto scenario = runs::resolve(settings.value());
  return scenario.ok() ? "no error" : scenario.error().to_string();
}

TEST(ScenarioJson, KeysThatHoldNothingAreCheckedToo) {
  const auto unknown = [](const std::string& text) { return json_error(text).substr(0, 40); };
  EXPECT_EQ(unknown(R"({"memry": {}})"), "s.json:1: unknown scenario path \"memry\" ");
  EXPECT_EQ(unknown(R"({"memry": null})"), "s.json:1: unknown scenario path \"memry\" ");
  EXPECT_EQ(unknown(R"({"memry": {"a": {}}})").substr(0, 38), "s.json:1: unknown scenario path \"memry");
  EXPECT_NE(
      json_error("{\"memory\":\n{\"pool\": {}}}").find("s.json:2: unknown scenario path \"memory.pool\""),
      std::string::npos);
  const std::string leaf =
      "s.json:1: memory.pool_tokens: expected a string, a number or true/false, found an object";
  EXPECT_EQ(json_error(R"({"memory": {"pool_tokens": {}}})"), leaf);
  EXPECT_EQ(json_error(R"({"memory": {"pool_tokens": {"a": 1}}})"), leaf);
  EXPECT_EQ(json_error(R"({"engine": {}})"), "s.json:1: engine: expected \"name\" in the component");
  // Objects without values have no effect.
  EXPECT_EQ(json_error(R"({"memory": {}, "workload": {"trace": null}, "seed": null, "view": {}})"),
            "no error");
}

TEST(ScenarioJson, TextBehindTheObjectIsSaidToBeThat) {
  const std::string behind = "expected nothing after the object";
  EXPECT_EQ(json_error("{\"seed\":1} x"), "s.json:1: " + behind);
  EXPECT_EQ(json_error("{\"seed\":1,\n\"model\": \"}{\\\"\"}\n\nx"), "s.json:4: " + behind);
  EXPECT_EQ(json_error("{\"seed\":1} {\"seed\":2}"), "s.json:1: " + behind);
  const std::string open = "s.json:1: read as a scenario: expected JSON in which every { and [ is closed";
  for (const char* text : {"{\"seed\":1", "{\"memory\":{", "{"}) EXPECT_EQ(json_error(text), open);
}

TEST(ScenarioJson, OriginsAreReadAndChecked) {
  const auto origin = [](const std::string& text) {
    const auto settings = parse_scenario(text, "s.json");
    return settings.ok() ? settings.value().at(0).origin == Origin::kDefault ? "default" : "given"
                         : settings.error().to_string();
  };
  EXPECT_EQ(origin(R"({"seed": 1, "scenario_origins": {"seed": "default"}})"), "default");
  EXPECT_EQ(origin(R"({"scenario_origins": {"seed": "default"}, "seed": 1})"), "default");
  EXPECT_EQ(origin(R"({"scenario_origins": {"seed": "given"}, "seed": 1})"), "given");
  EXPECT_EQ(origin(R"({"seed": 1})"), "given");
  EXPECT_EQ(origin("{\"seed\": 1,\n\"scenario_origins\": {\"seed\": 1}}"),
            "s.json:2: scenario_origins.seed: expected \"given\" or \"default\"");
  EXPECT_EQ(origin(R"({"seed": 1, "scenario_origins": 5})"),
            "s.json:1: scenario_origins: expected an object");
}

TEST(ScenarioOrigins, ParametersHaveTheirOwn) {
  const auto origins = [](std::vector<runs::Setting> settings) {
    const auto scenario = runs::resolve(settings);
    EXPECT_TRUE(scenario.ok());
    std::string given;
    runs::each_source(scenario.value(), [&](std::string_view path, const runs::Source& source) {
      if (runs::origin_of(source) == Origin::kGiven) given.append(given.empty() ? "" : " ").append(path);
    });
    return given;
  };
  EXPECT_EQ(origins({{"engine", "vllm-v1:max_seqs=7", {}, 0}}), "engine engine.max_seqs");
  EXPECT_EQ(origins({{"engine.max_seqs", "7", {}, 0}, {"engine.token_budget", "64", {}, 0}}),
            "engine engine.token_budget engine.max_seqs");
  // A whole component replaces what was set in it before.
  EXPECT_EQ(origins({{"engine.max_seqs", "7", {}, 0}, {"engine", "vllm-v1:prefix_cache=false", {}, 0}}),
            "engine engine.prefix_cache");
  // Read back: values in the text need not have been given by the user.
  EXPECT_EQ(
      origins({{"engine", "vllm-v1:max_seqs=7,token_budget=8192", {}, 0, Origin::kGiven, {"token_budget"}}}),
      "engine engine.max_seqs");
  EXPECT_EQ(origins({{"engine", "vllm-v1:max_seqs=7", {}, 0, Origin::kDefault, {}}}), "");
}

}  // namespace
}  // namespace kvplan::io
