// All engines: schedulers (family "engine"), pool rules (family "pool-rule"), and the other parts in their folders.
#pragma once

#include <span>

#include "simulator/base/component.h"
#include "simulator/model/pool_rule.h"
#include "simulator/scheduling/engine.h"

namespace kvplan::scheduling {

/// One entry for each engine folder, sorted by name.
std::span<const Engine* const> engines();

Catalogue engine_descriptors();
/// REQUIRES: the choice is of family "engine".
const EngineEntry& engine_entry(const Choice& choice);
/// The engine that has this scheduler. REQUIRES: as engine_entry.
const Engine& engine_of(const Choice& choice);
/// Traits of the choice's entry.
EngineTraits engine_traits(const Choice& choice);

Catalogue pool_rule_descriptors();
/// The choice of a pool rule together with the rule itself. REQUIRES: the choice is of family "pool-rule".
model::PoolRuleChoice pool_rule_of(Choice choice);

}  // namespace kvplan::scheduling
