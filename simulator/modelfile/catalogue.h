// The models that kvplan knows by name. Each is a file in simulator/model/data, in the form of config.h, and is
// compiled into the program: nothing is looked up at run time. To add one, add its file.
//
// A file lists in "kvplan": {"aliases": [...]} the Hugging Face repositories with models of its shape and its bits
// of weights: instruction-tuned or later versions. A repository with other bits of weights (-FP8, -AWQ, -GPTQ) is no
// alias, since its weights leave another pool. Names and aliases are compared without regard to case, an alias with its
// organisation or without.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// All of them, by name.
std::span<const ModelShape> models();
/// One of them, by its name or an alias. Errors: unknown name, with the nearest, and with what exists.
Result<const ModelShape*> find_model(std::string_view name);
/// Other names of one of `models()`, as their repositories spell them.
std::span<const std::string> model_aliases(const ModelShape& known);

/// Which model of `models()` a name that is no model's may mean, as a sentence behind an error; empty where none does.
/// `Qwen3-32B-FP8` is qwen3-32b and an ending that may stand for other bits of weights; `someone/Qwen3-32B` is a
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
