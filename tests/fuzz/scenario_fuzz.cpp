// Scenario files and --set texts: a scenario that can be resolved is printed and resolves to the same again; errors are
// one line.
#include <cstdlib>

#include "simulator/io/scenario_json.h"
#include "simulator/results/report.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> fuzz_seeds() {
  return {R"({"workload": {"trace": "a.kvt", "rate_scale": "3/4", "limit": 10}, "seed": 7})",
          R"({"memory": {"pool_tokens": 4096, "allocator": {"name": "paged", "block_tokens": 8}},
 "engine": "vllm-v1:max_seqs=3,prefix_cache=false", "latency": {"name": "affine", "base_ns": 1.5, "token_ns": "2"},
 "eviction": {"name": "streaming-llm", "sink": 4, "recent": 12}, "targets": {"ttft_s": 0.5}})",
          R"({"fleet": "replicas=2,router=round-robin", "model": null, "workload": {"trace": ["a.kvt"]}})",
          "memory.allocator.block_tokens=32", "latency=roofline:overhead_ns=1e3"};
}

/// The scenario in the form in which a report begins with it, without the origins.
static std::string printed(const kvplan::runs::Scenario& scenario) {
  kvplan::JsonWriter json;
  json.begin_object();
  kvplan::runs::write_scenario(json, scenario);
  json.end_object();
  const std::string both = json.take();
  const std::size_t begin = both.find('{', 1);
  std::string inner = both.substr(begin, both.find("\"scenario_origins\"") - begin);
  inner.erase(inner.find_last_of(','));
  return inner;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvplan;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto one_line = [](const Error& error) {
    if (error.to_string().find('\n') != std::string::npos) std::abort();
  };
  std::vector<runs::Setting> settings;
  if (io::looks_like_scenario_json(text)) {
    auto parsed = io::parse_scenario(text, "folder/scenario.json");
    if (!parsed.ok()) return one_line(parsed.error()), 0;
    settings = std::move(parsed).value();
  } else {
    auto parsed = runs::parse_setting(text);
    if (!parsed.ok()) return one_line(parsed.error()), 0;
    settings.push_back(std::move(parsed).value());
  }
  const auto scenario = runs::resolve(settings);
  if (!scenario.ok()) return one_line(scenario.error()), 0;
  // The scenario inside a report can be read back.
  const std::string once = printed(scenario.value());
  const auto again = io::parse_scenario(once, "printed.json");
  if (!again.ok()) std::abort();
  const auto resolved = runs::resolve(again.value());
  if (!resolved.ok() || printed(resolved.value()) != once) std::abort();
  return 0;
}
