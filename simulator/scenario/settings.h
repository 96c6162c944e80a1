// Turns settings into the texts of a scenario: each setting is checked against its field, and its source is stored.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Index of the field with this path in scenario_fields(). REQUIRES: there is one.
std::size_t field_index(std::string_view path);

/// The last setting of each field, parallel to scenario_fields(): for errors that are found when all fields are known.
using GivenAt = std::vector<Setting>;

/// The error with the path, file and line of this setting, where the error lacks them.
Error error_at(Error error, const Setting& setting);

/// A scenario with every field at its default.
Scenario default_scenario(std::span<const Setting> settings);

/// Sets the texts and sources of the scenario. Errors: unknown paths, and values that their field does not accept.
Status apply_settings(std::span<const Setting> settings, Scenario& scenario, GivenAt& given_at);

/// `NAME:a=1,b=2` with parameter `param` set to `text`.
std::string with_param(std::string_view component, std::string_view param, std::string_view text);

}  // namespace kvplan::runs
