// What `kvplan format` prints: its JSON, and a table for people.
#pragma once

#include <string>

#include "simulator/base/json_writer.h"
#include "simulator/formats/evaluation.h"

namespace kvplan::report {

/// The keys of the golden files from `format` to `summary`, and more. `group`: query heads per KV head.
std::string format_json(const formats::EvaluationRequest& request, const formats::Evaluation& found,
                        const std::string& input, std::int32_t group);
/// Writes the keys `format`, `params`, `class`, `byte_columns`, `after_prefill`, `steps` and `summary` as members.
void write_stored(JsonWriter& json, const formats::EvaluationRequest& request,
                  const formats::Evaluation& found);
std::string format_text(const formats::EvaluationRequest& request, const formats::Evaluation& found,
                        const std::string& input);

}  // namespace kvplan::report
