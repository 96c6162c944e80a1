#include "simulator/io/model_file.h"

#include <filesystem>
#include <memory>

#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/config.h"
#include "traces/io/input.h"

namespace kvplan::io {
namespace {

/// The file beside a config that says how its weights are quantised. It may not exist.
std::string quantisation_file(const std::string& path) {
  const std::size_t end = path.rfind('/');
  const std::string folder = end == std::string::npos ? std::string() : path.substr(0, end + 1);
  return folder + std::string(model::kQuantisationFile);
}

/// The text of that file; empty if there is none. Errors: it cannot be read whole.
Result<std::string> quantisation_beside(const std::string& path) {
  const std::string file = quantisation_file(path);
  std::error_code unknown;
  if (std::filesystem::symlink_status(file, unknown).type() == std::filesystem::file_type::not_found)
    return std::string();
  KVPLAN_TRY(const auto input, traces::Input::open(file));
  std::string text(input->take(model::kMostConfigBytes + 1));
  if (input->failed()) return input->error();
  if (text.size() > model::kMostConfigBytes)
    return bad_input("expected a file of at most " + std::to_string(model::kMostConfigBytes >> 20U) + " MiB")
        .at_file(file);
  return text;
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
  KVPLAN_TRY(const std::string quantisation, quantisation_beside(name_or_path));
  return model::parse_config(text, name_or_path, quantisation);
}

std::vector<std::string> model_files(const std::string& name_or_path) {
  if (!model::names_model_file(name_or_path)) return {};
  return {name_or_path, quantisation_file(name_or_path)};
}

}  // namespace kvplan::io
