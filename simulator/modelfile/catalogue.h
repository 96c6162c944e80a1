// The models that kvplan knows by name. Each is a file in simulator/model/data, in the form of config.h, and is
// compiled into the program: nothing is looked up at run time. To add one, add its file.
#pragma once

#include <span>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// All of them, by name.
std::span<const ModelShape> models();
/// The model of this name. Errors: unknown name, with what exists.
Result<const ModelShape*> find_model(std::string_view name);

/// True: the text names a file, not a model: it has a slash or ends in ".json".
bool names_model_file(std::string_view text);

/// A file of simulator/model/data or simulator/model/devices.
struct EmbeddedConfig {
  std::string_view file;
  std::string_view text;
};
std::span<const EmbeddedConfig> embedded_configs();
std::span<const EmbeddedConfig> embedded_devices();

}  // namespace kvplan::model
