// The devices that kvplan knows by name. Each is a file in simulator/model/devices (its README has the form), and is
// compiled into the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/model/device.h"

namespace kvplan::model {

/// All devices, by name.
std::span<const DeviceShape> devices();
/// The device with this name or alias. Errors: unknown name, with what exists.
Result<const DeviceShape*> find_device(std::string_view name);

/// Reads the text of a device's file. Errors: broken JSON, an unknown key or mark, a missing required figure, a
/// number out of range.
Result<DeviceShape> parse_device(std::string_view text, const std::string& file);

}  // namespace kvplan::model
