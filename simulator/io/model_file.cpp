#include "simulator/io/model_file.h"

#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/config.h"
#include "traces/io/input.h"

namespace kvplan::io {

Result<model::ModelShape> open_model(const std::string& name_or_path) {
  if (!model::names_model_file(name_or_path)) {
    KVPLAN_TRY(const model::ModelShape* const known, model::find_model(name_or_path));
    return *known;
  }
  auto opened = traces::Input::open(name_or_path);
  if (!opened.ok()) {  // it may have been meant as a repository
    Error error = std::move(opened).error();
    if (const std::string hint = model::model_hint(name_or_path); !hint.empty()) error.message += "; " + hint;
    return error;
  }
  const std::unique_ptr<traces::Input> input = std::move(opened).value();
  const std::string text(input->take(model::kMostConfigBytes + 1));
  if (input->failed()) return input->error();
  return model::parse_config(text, name_or_path);
}

}  // namespace kvplan::io
