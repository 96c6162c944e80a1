#include "simulator/scenario/scenario_files.h"

#include <algorithm>

#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_text.h"

namespace kvplan::runs {
namespace {

/// Paths with text that is the name of a file, or names separated by commas.
enum class Names : std::uint8_t { kNothing, kFile, kFiles };

Names names(std::string_view path, std::string_view text) {
  if (path == "deployment.device") return model::names_device_file(text) ? Names::kFile : Names::kNothing;
  if (path == "model") return model::names_model_file(text) ? Names::kFile : Names::kNothing;
  if (path == "workload.trace" || path == "prices") return Names::kFile;
  return path == "workload.attention" ? Names::kFiles : Names::kNothing;
}

std::string moved_file(const std::string& text, const FileMove& move) {
  return text.empty() ? text : move(text);
}

/// A component in which `move` has been applied to the values of parameters that name files.
std::string moved_component(std::string_view family, const std::string& text, const FileMove& move) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const Catalogue catalogue = family_descriptors(family);
  const auto component = std::find_if(catalogue.begin(), catalogue.end(), [&](const Descriptor* d) {
    return d->name == std::string_view(text).substr(0, colon);
  });
  if (component == catalogue.end()) return text;
  std::string out = text.substr(0, colon);
  for (std::size_t begin = colon; begin < text.size();) {
    const std::size_t comma = end_of_pair(std::string_view(text).substr(begin + 1));
    const std::size_t end = comma == std::string_view::npos ? text.size() : begin + 1 + comma;
    const std::string part = text.substr(begin, end - begin);  // includes the colon or comma before it
    const std::size_t value = std::min(part.find('='), part.size() - 1) + 1;
    const auto& params = (*component)->params;
    const std::string given = part.substr(value);
    const bool written_out = given.starts_with('[') || given.starts_with("\"[");  // a list, not a name
    const bool file = !written_out && std::any_of(params.begin(), params.end(), [&](const Param& p) {
      return p.names_file && given != p.fallback &&
             part.substr(1, value - std::min<std::size_t>(value, 2)) == p.name;
    });
    out += file ? part.substr(0, value) + moved_file(given, move) : part;
    begin = end;
  }
  return out;
}

}  // namespace

std::string with_files_moved(std::string_view path, const std::string& text, const FileMove& move) {
  const auto fields = scenario_fields();
  const auto field =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.path == path; });
  if (field != fields.end() && field->kind == FieldKind::kComponent)
    return moved_component(field->family, text, move);
  const Names what = names(path, text);
  if (what == Names::kNothing) return text;
  if (what == Names::kFile) {
    std::string out = moved_file(text, move);
    // The path of a model or a device stays one that cannot be taken for a name.
    const bool as_name = (path == "model" && !model::names_model_file(out)) ||
                         (path == "deployment.device" && !model::names_device_file(out));
    return as_name ? "./" + out : out;
  }
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    out.append(begin == 0 ? "" : ",").append(moved_file(text.substr(begin, comma - begin), move));
    begin = comma + 1;
  }
  return out;
}

std::vector<std::string> files_of(const Scenario& scenario) {
  std::vector<std::string> files;
  const FileMove take = [&](const std::string& file) {
    files.push_back(file);
    return file;
  };
  for (const Field& field : scenario_fields()) with_files_moved(field.path, scenario.text(field.path), take);
  return files;
}

}  // namespace kvplan::runs
