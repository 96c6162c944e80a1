#include "simulator/io/model_file.h"

#include <memory>

#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/config.h"
#include "traces/io/input.h"

namespace kvplan::io {
namespace {

/// The text of the file beside a config that says how its weights are quantised; empty if there is none.
std::string quantisation_beside(const std::string& path) {
  const std::size_t end = path.rfind('/');
  const std::string folder = end == std::string::npos ? std::string() : path.substr(0, end + 1);
  auto opened = traces::Input::open(folder + std::string(model::kQuantisationFile));
  if (!opened.ok()) return {};
  return std::string(opened.value()->take(model::kMostConfigBytes));
}

}  // namespace

Result<model::ModelShape> open_model(const std::string& name_or_path) {
  if (!model::names_model_file(name_or_path)) {
    KVPLAN_TRY(const model::ModelShape* const known, model::find_model(name_or_path));
    return *known;
  }
  auto opened = traces::Input::open(name_or_path);
  if (!opened.ok()) {  // the user may have meant the name of a repository
    Error error = std::move(opened).error();
    if (const std::string hint = model::model_hint(name_or_path); !hint.empty()) error.message += "; " + hint;
    return error;
  }
  const std::unique_ptr<traces::Input> input = std::move(opened).value();
  const std::string text(input->take(model::kMostConfigBytes + 1));
  if (input->failed()) return input->error();
  return model::parse_config(text, name_or_path, quantisation_beside(name_or_path));
}

}  // namespace kvplan::io
