// Where the variants of a comparison part: the first step in which a scheduler decides otherwise (study/parting.h).
#pragma once

#include <string>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/study/compare.h"

namespace kvplan::report {

/// A sentence for each variant that ran but the first. Empty if partings were not asked for.
std::vector<std::string> parting_sentences(const runs::Comparison& comparison);

/// "parting" of one variant: {"from", "replica", "step", "time_s", "decision": [{"variant", "decision", "request"}]};
/// null where it never parts. Nothing is written if partings were not asked for, or if there is nothing to part from.
void write_parting(JsonWriter& json, const runs::Comparison& comparison, const runs::Variant& variant);
/// "parting" of the comparison: that of the variant which parts first, with its name as "variant".
void write_first_parting(JsonWriter& json, const runs::Comparison& comparison);

}  // namespace kvplan::report
