// A scenario as a message of proto/scenario.proto, and back. Both ways walk the schema: a path of a scenario
// is the names of the fields that lead to its value.
#pragma once

#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/scenario/scenario.h"

namespace google::protobuf {
class Message;
}
namespace kvplan::v1 {
class Scenario;
}

namespace kvplan::io {

/// Every value of a resolved scenario with its origin; components with all their parameters. Error: a path
/// for which the schema has no field.
Status fill_message(const plan::Scenario& scenario, v1::Scenario& message);

/// The values as settings, in the order of the schema, for plan::resolve to check. Errors: fields that this
/// version does not know (without them it would be another scenario), values that no scenario can have.
Result<std::vector<plan::Setting>> settings_of(const v1::Scenario& message);

/// The members "scenario" and "scenario_origins" of an object that is open, as plan::write_scenario has them.
/// The message may be of another version; what is checked is that each value is one. `fields_only`: the
/// members of the scenario itself in place of the first of the two, as a scenario file has them.
Status write_scenario(JsonWriter& json, const v1::Scenario& message, bool fields_only = false);

/// True if the message, or one below it, has fields of a later version.
bool holds_unknown_fields(const google::protobuf::Message& message);

}  // namespace kvplan::io
