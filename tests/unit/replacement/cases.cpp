#include "tests/unit/replacement/cases.h"

#include <map>

#include "simulator/base/check.h"
#include "tests/support/random_cases.h"

namespace kvplan::replacement::testing {

std::int64_t cases(std::int64_t few) {
  return test::random_cases(few);
}

Choice choice_of(const std::string& text) {
  auto choice = parse_component(text, "replacement", replacement_descriptors());
  KVPLAN_CHECK(choice.ok());
  return std::move(choice).value();
}

Choice random_choice(const ReplacementEntry& entry, Random& random) {
  std::string text(entry.descriptor.name);
  const char* separator = ":";
  const auto one_of = [&](std::vector<std::string> values) { return values[random.below(values.size())]; };
  for (const Param& param : entry.descriptor.params) {
    if (random.chance(1, 3)) continue;
    std::string value;
    if (param.kind == ParamKind::kFlag) {
      value = one_of({"true", "false"});
    } else if (param.kind == ParamKind::kInteger) {
      value = std::to_string(static_cast<std::int64_t>(param.low) + random.between(0, 2));
    } else {
      value = one_of({"0", "0.1", "0.25", "0.5", "1"});
    }
    text.append(separator).append(param.name).append("=").append(value);
    separator = ",";
  }
  return choice_of(text);
}

traces::Trace trace_of(const Prompts& prompts) {
  traces::Trace trace;
  trace.prefix.block_tokens = 16;
  trace.prefix.offsets.push_back(0);
  std::map<Id, std::uint32_t> dense;
  for (const std::vector<Id>& prompt : prompts.ids) {
    for (const Id id : prompt)
      trace.prefix.ids.push_back(dense.emplace(id, static_cast<std::uint32_t>(dense.size())).first->second);
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
    trace.input_tokens.push_back(static_cast<std::int32_t>(16 * prompt.size()));
    trace.output_tokens.push_back(1);
  }
  trace.prefix.distinct = static_cast<std::int64_t>(dense.size());
  trace.arrival_ns = prompts.arrival_ns;
  trace.arrival_ns.resize(prompts.ids.size(), 0);
  trace.tenant = prompts.tenant;
  if (!trace.tenant.empty()) trace.tenant_names = {"a", "b", "c"};
  return trace;
}

Prompts random_prompts(Random& random) {
  Prompts prompts;
  std::map<std::pair<Id, std::uint64_t>, Id> child;
  const std::uint64_t branches = 1 + random.below(4);
  const auto count = random.between(1, 60);
  std::int64_t now_ns = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    std::vector<Id> prompt;
    Id at = 0;
    for (std::int64_t depth = random.between(0, 8); depth > 0; --depth) {
      const std::uint64_t branch = random.chance(1, 2) ? 0 : random.below(branches);
      at = child.emplace(std::pair(at, branch), static_cast<Id>(child.size() + 1)).first->second;
      prompt.push_back(at);
    }
    prompts.ids.push_back(prompt);
    now_ns += random.between(-1, 4) * 50'000'000;
    prompts.arrival_ns.push_back(now_ns);
    prompts.tenant.push_back(static_cast<std::int32_t>(random.between(-1, 2)));
  }
  if (random.chance(1, 2)) prompts.tenant.clear();
  prompts.ids.push_back({1});
  prompts.arrival_ns.push_back(now_ns);
  if (!prompts.tenant.empty()) prompts.tenant.push_back(0);
  return prompts;
}

Hits hits_of(const std::string& text, const traces::Trace& trace, std::int64_t capacity) {
  const Choice choice = choice_of(text);
  const auto refs = references_of(trace);
  KVPLAN_CHECK(refs.ok());
  const auto hits = replacement_entry(choice).replay(choice, refs.value(), capacity, nullptr);
  KVPLAN_CHECK(hits.ok());
  return hits.value();
}

}  // namespace kvplan::replacement::testing
