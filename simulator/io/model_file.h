// Opens models as users name them: by the name of a known model, or by the path of a config.json (simulator/modelfile).
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::io {

/// Errors: unknown name, a file that cannot be read, a config that is invalid or lacks a key.
Result<model::ModelShape> open_model(const std::string& name_or_path);

/// The files that open_model reads for this text; none for the name of a known model.
std::vector<std::string> model_files(const std::string& name_or_path);

}  // namespace kvplan::io
