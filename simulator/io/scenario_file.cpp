#include "simulator/io/scenario_file.h"

#include <algorithm>
#include <filesystem>

#include "proto/scenario.pb.h"
#include "simulator/io/scenario_json.h"
#include "simulator/io/scenario_message.h"
#include "simulator/modelfile/catalogue.h"

namespace kvplan::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

/// Paths whose text is the name of a file, or names with commas between.
enum class Names : std::uint8_t { kNothing, kFile, kFiles };

Names names(std::string_view path, std::string_view text) {
  if (path == "model") return model::names_model_file(text) ? Names::kFile : Names::kNothing;
  if (path == "workload.trace" || path == "prices") return Names::kFile;
  return path == "workload.attention" ? Names::kFiles : Names::kNothing;
}

fs::path folder_of(const std::string& file) {
  return file == "-" ? fs::path() : fs::path(file).parent_path();
}

/// A path that counts from `folder` as one that counts from the working directory.
std::string from_folder(const std::string& text, const fs::path& folder) {
  const fs::path file(text);
  return text.empty() || file.is_absolute() ? text : (folder / file).lexically_normal().string();
}

/// The other way round.
std::string to_folder(const std::string& text, const fs::path& folder) {
  const fs::path file(text);
  if (text.empty() || file.is_absolute() || folder.empty()) return text;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return text;
  return (here / file).lexically_normal().lexically_relative((here / folder).lexically_normal()).string();
}

/// The text of a component with the values of parameters that name files moved. What is no component of the family
/// stays as it is, for `resolve` to refuse.
std::string moved_component(std::string_view family, const std::string& text, const fs::path& folder,
                            std::string (*move)(const std::string&, const fs::path&)) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const Catalogue catalogue = plan::family_descriptors(family);
  const auto component = std::find_if(catalogue.begin(), catalogue.end(), [&](const Descriptor* d) {
    return d->name == std::string_view(text).substr(0, colon);
  });
  if (component == catalogue.end()) return text;
  std::string out = text.substr(0, colon);
  for (std::size_t begin = colon; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin + 1), text.size());
    const std::string part = text.substr(begin, end - begin);  // the colon or comma before it included
    const std::size_t value = std::min(part.find('='), part.size() - 1) + 1;
    const auto& params = (*component)->params;
    const bool file = std::any_of(params.begin(), params.end(), [&](const Param& p) {
      return p.names_file && part.substr(1, value - std::min<std::size_t>(value, 2)) == p.name;
    });
    out += file ? part.substr(0, value) + move(part.substr(value), folder) : part;
    begin = end;
  }
  return out;
}

/// The text of a path with every name of a file in it moved.
std::string moved(std::string_view path, const std::string& text, const fs::path& folder,
                  std::string (*move)(const std::string&, const fs::path&)) {
  const Names what = names(path, text);
  const auto fields = plan::scenario_fields();
  const auto field =
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.path == path; });
  if (field != fields.end() && field->kind == plan::FieldKind::kComponent)
    return moved_component(field->family, text, folder, move);
  if (what == Names::kNothing) return text;
  if (what == Names::kFile) {
    std::string out = move(text, folder);
    // The path of a model stays one that cannot be taken for a name.
    return path == "model" && !model::names_model_file(out) ? "./" + out : out;
  }
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    out.append(begin == 0 ? "" : ",").append(move(text.substr(begin, comma - begin), folder));
    begin = comma + 1;
  }
  return out;
}

void move_to_folder(plan::Scenario& scenario, const fs::path& folder) {
  for (std::size_t i = 0; i < plan::scenario_fields().size(); ++i)
    scenario.texts[i] = moved(plan::scenario_fields()[i].path, scenario.texts[i], folder, to_folder);
}

Result<std::vector<plan::Setting>> read_json(traces::Input& input) {
  const std::string text(input.take(kMostBytes + 1));
  if (input.failed()) return input.error();
  if (text.size() > kMostBytes)
    return bad_input("expected a scenario of at most 1 MiB").at_file(input.path());
  return parse_scenario(text, input.path());
}

Result<std::vector<plan::Setting>> read_binary(traces::Input& input) {
  DocumentReader reader(input);
  KVPLAN_TRY(const std::string body, reader.body(DocumentKind::kScenario));
  v1::Scenario message;
  if (!message.ParseFromString(body)) return reader.wrong("expected a Scenario message");
  Result<std::vector<plan::Setting>> settings = settings_of(message);
  if (!settings.ok()) return std::move(settings).error().at_file(input.path());
  for (plan::Setting& setting : settings.value()) setting.file = input.path();
  for (;;) {
    KVPLAN_TRY(const auto more, reader.next());
    if (!more) return settings;
  }
}

}  // namespace

bool looks_like_scenario(std::string_view begin) {
  return document_kind(begin) == DocumentKind::kScenario || looks_like_scenario_json(begin);
}

Result<std::vector<plan::Setting>> read_scenario(traces::Input& input) {
  // A .kvs that begins with other bytes is a damaged one, unless it is text.
  const std::string_view begin = input.peek(8);
  const bool binary = document_kind(begin) == DocumentKind::kScenario ||
                      (is_named(input.path(), ".kvs") && begin.find('{') == std::string_view::npos);
  KVPLAN_TRY(std::vector<plan::Setting> settings, binary ? read_binary(input) : read_json(input));
  for (plan::Setting& setting : settings)
    setting.text = moved(setting.path, setting.text, folder_of(input.path()), from_folder);
  return settings;
}

Result<std::vector<plan::Setting>> read_scenario(const std::string& path) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  return read_scenario(*input);
}

Status write_scenario_binary(plan::Scenario scenario, const std::string& path,
                             const DocumentWriter::Sink& sink) {
  move_to_folder(scenario, folder_of(path));
  v1::Scenario message;
  KVPLAN_TRY_DO(fill_message(scenario, message));
  DocumentWriter writer(sink);
  KVPLAN_TRY_DO(writer.begin(DocumentKind::kScenario, message.SerializeAsString()));
  return writer.finish();
}

Result<std::string> scenario_json(plan::Scenario scenario, const std::string& path) {
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
