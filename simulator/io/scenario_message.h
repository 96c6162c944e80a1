// Converts a scenario to a message of proto/scenario.proto, and back. Both directions walk the schema: a path of a
// scenario consists of the names of the fields that lead to its value.
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
Status fill_message(const runs::Scenario& scenario, v1::Scenario& message);

/// The values as settings, in the order of the schema, to be checked by runs::resolve. Errors: fields that this
/// version does not know (without them it would be another scenario), values that no scenario can have.
Result<std::vector<runs::Setting>> settings_of(const v1::Scenario& message);

/// Writes the members "scenario" and "scenario_origins" of an open object, as runs::write_scenario does. The message
/// may be of another version; each value is only checked for its type. `fields_only`: writes the members of the
/// scenario itself instead of "scenario", as in a scenario file.
Status write_scenario(JsonWriter& json, const v1::Scenario& message, bool fields_only = false);

/// True: the message, or one inside it, has fields of a later version.
bool holds_unknown_fields(const google::protobuf::Message& message);

}  // namespace kvplan::io
