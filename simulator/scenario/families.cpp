// The families of components that a scenario chooses from.
#include <array>

#include "simulator/attention/catalogue.h"
#include "simulator/latency/latencies.h"
#include "simulator/memory/allocators.h"
#include "simulator/readers/catalogue.h"
#include "simulator/replacement/replacements.h"
#include "simulator/routing/routers.h"
#include "simulator/scenario/extrapolation.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario.h"
#include "simulator/scheduling/engines.h"
#include "simulator/workload/answers.h"
#include "simulator/workload/sessions.h"

namespace kvplan::runs {
namespace {

constexpr std::array<std::string_view, 12> kFamilies{
    "sessions", "answers", "allocator", "engine",      "latency", "router",
    "eviction", "format",  "pool-rule", "replacement", "reader",  kExtrapolationFamily};

}  // namespace

std::span<const std::string_view> families() {
  return kFamilies;
}

Catalogue family_descriptors(std::string_view family) {
  if (family == "sessions") return workload::session_descriptors();
  if (family == "answers") return workload::answer_descriptors();
  if (family == "allocator") return memory::allocator_descriptors();
  if (family == "engine") return scheduling::engine_descriptors();
  if (family == "latency") return latency::latency_descriptors();
  if (family == "router") return routing::router_descriptors();
  if (family == "eviction") return attention::policy_descriptors();
  if (family == "budget") return run_budgets();
  if (family == "format") return run_formats();
  if (family == kWindowFormatFamily) return window_formats();
  if (family == "pool-rule") return scheduling::pool_rule_descriptors();
  if (family == "replacement") return replacement::replacement_descriptors();
  if (family == "reader") return readers::reader_descriptors();
  if (family == kExtrapolationFamily) return extrapolations();
  return {};
}

Result<Choice> parse_member(std::string_view family, std::string_view text) {
  if (family == "format") return parse_run_format(text);
  if (family == kWindowFormatFamily) return parse_window_format(text);
  return parse_component(text, family, family_descriptors(family));
}

}  // namespace kvplan::runs
