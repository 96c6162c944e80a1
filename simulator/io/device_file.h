// Devices in files, for whatever takes a device: a file is read once, and its text replaced by the device said in
// place, so that reports and stored scenarios hold its figures.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::io {

/// A file of a device as the device said in place; names and devices in place stay. Errors: those of the file.
Result<std::string> device_text(const std::string& text);

/// The same for every setting of deployment.device.
Status read_devices(std::vector<runs::Setting>& settings);

}  // namespace kvplan::io
