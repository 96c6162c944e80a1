// Components in the JSON of results.
#pragma once

#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"

namespace kvplan::report {

/// The value of a parameter: a number, true or false, or a text. REQUIRES: the choice has it.
void write_value(JsonWriter& json, const Choice& choice, const Param& param);
/// "params": an object with every parameter.
void write_params(JsonWriter& json, const Choice& choice);

}  // namespace kvplan::report
