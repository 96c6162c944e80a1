// Devices that are not bundled, as a user says them: in place as `key=value,key=value`, or in a file. A file is JSON,
// either in the form of simulator/model/devices or one object with the same keys as in place.
//
// Keys in place: name, title, vendor, architecture, memory, and every figure of a device (model/device.h), of which
// total_bytes (another name of usable_bytes), bandwidth and bf16_flops must be there. Amounts are in bytes, bytes/s and
// FLOP/s; exponents are allowed (1008e9).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/model/device.h"

namespace kvplan::model {

/// True: the text is a device's figures; false: it is a name, or names a file.
bool says_device(std::string_view text);
/// True: the text names a file with a device: it ends in ".json", or has a slash.
bool names_device_file(std::string_view text);

/// Reads a device said in place. Errors, at the key: an unknown or repeated key, a missing one, a value that no device
/// has.
Result<DeviceShape> device_in_place(std::string_view text);
/// A bundled device by its name, or one said in place. Errors: those of find_device and device_in_place.
Result<std::shared_ptr<const DeviceShape>> any_device(std::string_view text);
/// Reads a file. Errors: as those of device_in_place and of parse_device, with the file.
Result<DeviceShape> device_of_file(std::string_view text, const std::string& file);
/// The text that says this device in place; sources are lost.
std::string in_place(const DeviceShape& device);

}  // namespace kvplan::model
