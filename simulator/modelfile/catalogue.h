// The models that kvplan knows by name. Each is a file in simulator/model/data, in the form of config.h, and is
// compiled into the program: nothing is looked up at run time. To add one, add its file.
//
// A file lists in "kvplan": {"aliases": [...]} the Hugging Face repositories with models of its shape and its bits of
// weights: instruction-tuned or later versions. A repository with other bits of weights (-FP8, -AWQ, -GPTQ) is not an
// alias, since its weights leave a pool of another size. Names and aliases are compared without regard to case, and an
// alias may be given with or without its organisation.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// All models, by name.
std::span<const ModelShape> models();
/// A model by its name or an alias. Errors: unknown name, with the nearest known name, and where to find all names.
Result<const ModelShape*> find_model(std::string_view name);
/// Other names of one of `models()`, as their repositories spell them.
std::span<const std::string> model_aliases(const ModelShape& known);

/// For a name that no model has: a sentence for the error that says which model of `models()` it may mean; empty if
/// none. `Qwen3-32B-FP8` is qwen3-32b plus an ending that may stand for other bits of weights; `someone/Qwen3-32B` is a
/// repository of another organisation, which may hold anything.
std::string model_hint(std::string_view name);

/// True for a text that names a file, not a model: it has a slash or ends in ".json", and is no alias.
bool names_model_file(std::string_view text);

/// A file of simulator/model/data or simulator/model/devices.
struct EmbeddedConfig {
  std::string_view file;
  std::string_view text;
};
std::span<const EmbeddedConfig> embedded_configs();
std::span<const EmbeddedConfig> embedded_devices();

}  // namespace kvplan::model
