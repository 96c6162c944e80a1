#include "simulator/io/scenario_file.h"

#include <filesystem>

#include "proto/scenario.pb.h"
#include "simulator/io/device_file.h"
#include "simulator/io/scenario_json.h"
#include "simulator/io/scenario_message.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

fs::path folder_of(const std::string& file) {
  return file == "-" ? fs::path() : fs::path(file).parent_path();
}

/// Converts a path relative to `folder` into one relative to the working directory.
std::string from_folder(const std::string& text, const fs::path& folder) {
  const fs::path file(text);
  return file.is_absolute() ? text : (folder / file).lexically_normal().string();
}

/// Converts a path relative to the working directory into one relative to `folder`.
std::string to_folder(const std::string& text, const fs::path& folder) {
  const fs::path file(text);
  if (file.is_absolute() || folder.empty()) return text;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return text;
  return (here / file).lexically_normal().lexically_relative((here / folder).lexically_normal()).string();
}

void move_to_folder(runs::Scenario& scenario, const fs::path& folder) {
  const runs::FileMove move = [&](const std::string& file) { return to_folder(file, folder); };
  for (std::size_t i = 0; i < runs::scenario_fields().size(); ++i)
    scenario.texts[i] = runs::with_files_moved(runs::scenario_fields()[i].path, scenario.texts[i], move);
}

Result<std::vector<runs::Setting>> read_json(traces::Input& input) {
  const std::string text(input.take(kMostBytes + 1));
  if (input.failed()) return input.error();
  if (text.size() > kMostBytes)
    return bad_input("expected a scenario of at most 1 MiB").at_file(input.path());
  return parse_scenario(text, input.path());
}

Result<std::vector<runs::Setting>> read_binary(traces::Input& input) {
  DocumentReader reader(input);
  KVPLAN_TRY(const std::string body, reader.body(DocumentKind::kScenario));
  v1::Scenario message;
  if (!message.ParseFromString(body)) return reader.wrong("expected a Scenario message");
  Result<std::vector<runs::Setting>> settings = settings_of(message);
  if (!settings.ok()) return std::move(settings).error().at_file(input.path());
  for (runs::Setting& setting : settings.value()) setting.file = input.path();
  for (;;) {
    KVPLAN_TRY(const auto more, reader.next());
    if (!more) return settings;
  }
}

}  // namespace

bool looks_like_scenario(std::string_view begin) {
  return document_kind(begin) == DocumentKind::kScenario || looks_like_scenario_json(begin);
}

Result<std::vector<runs::Setting>> read_scenario(traces::Input& input) {
  // A .kvs that begins with other bytes is a damaged binary file, unless it is text.
  const std::string_view begin = input.peek(8);
  const bool binary = document_kind(begin) == DocumentKind::kScenario ||
                      (is_named(input.path(), ".kvs") && begin.find('{') == std::string_view::npos);
  KVPLAN_TRY(std::vector<runs::Setting> settings, binary ? read_binary(input) : read_json(input));
  const runs::FileMove move = [folder = folder_of(input.path())](const std::string& file) {
    return from_folder(file, folder);
  };
  for (runs::Setting& setting : settings)
    setting.text = runs::with_files_moved(setting.path, setting.text, move);
  KVPLAN_TRY_DO(read_devices(settings));
  return settings;
}

Result<std::vector<runs::Setting>> read_scenario(const std::string& path) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  return read_scenario(*input);
}

Status write_scenario_binary(runs::Scenario scenario, const std::string& path,
                             const DocumentWriter::Sink& sink) {
  move_to_folder(scenario, folder_of(path));
  v1::Scenario message;
  KVPLAN_TRY_DO(fill_message(scenario, message));
  DocumentWriter writer(sink);
  KVPLAN_TRY_DO(writer.begin(DocumentKind::kScenario, message.SerializeAsString()));
  return writer.finish();
}

Result<std::string> scenario_json(runs::Scenario scenario, const std::string& path) {
  move_to_folder(scenario, folder_of(path));
  v1::Scenario message;
  KVPLAN_TRY_DO(fill_message(scenario, message));
  JsonWriter json;
  json.begin_object();
  KVPLAN_TRY_DO(write_scenario(json, message, true));
  json.end_object();
  return json.take();
}

}  // namespace kvplan::io
