#include "simulator/scheduling/engines.h"

#include <utility>
#include <vector>

#include "simulator/base/check.h"

// One line for each engine: its folder, and the namespace in which the folder's engine.cpp defines `kEngine`.
#define KVPLAN_ENGINES(ENGINE) \
  ENGINE(sglang)               \
  ENGINE(trtllm)               \
  ENGINE(vllm)

#define KVPLAN_DECLARE_ENGINE(name) \
  namespace name {                  \
  extern const Engine kEngine;      \
  }
#define KVPLAN_ENGINE_ADDRESS(name) &name::kEngine,

namespace kvplan::scheduling {

KVPLAN_ENGINES(KVPLAN_DECLARE_ENGINE)

namespace {

constexpr const Engine* kAll[]{KVPLAN_ENGINES(KVPLAN_ENGINE_ADDRESS)};

template <class Member>
std::vector<const Descriptor*> descriptors_of(const Member* Engine::*part) {
  std::vector<const Descriptor*> out;
  for (const Engine* engine : kAll)
    if (engine->*part != nullptr) out.push_back(&(engine->*part)->descriptor);
  return out;
}

/// The engine that has a part with the choice's descriptor.
template <class Member>
const Engine& engine_with(const Member* Engine::*part, const Choice& choice) {
  for (const Engine* engine : kAll)
    if (engine->*part != nullptr && &(engine->*part)->descriptor == &choice.descriptor()) return *engine;
  check_failed("the choice is of this family", __FILE__, __LINE__);
}

}  // namespace

std::span<const Engine* const> engines() {
  return kAll;
}

Catalogue engine_descriptors() {
  static const std::vector<const Descriptor*> kDescriptors = descriptors_of(&Engine::scheduler);
  return kDescriptors;
}

const Engine& engine_of(const Choice& choice) {
  return engine_with(&Engine::scheduler, choice);
}

const EngineEntry& engine_entry(const Choice& choice) {
  return *engine_of(choice).scheduler;
}

EngineTraits engine_traits(const Choice& choice) {
  return engine_entry(choice).traits(choice);
}

Catalogue pool_rule_descriptors() {
  static const std::vector<const Descriptor*> kDescriptors = descriptors_of(&Engine::pool_rule);
  return kDescriptors;
}

model::PoolRuleChoice pool_rule_of(Choice choice) {
  const model::PoolRule* const rule = engine_with(&Engine::pool_rule, choice).pool_rule;
  return {rule, std::move(choice)};
}

}  // namespace kvplan::scheduling
