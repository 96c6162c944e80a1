// kvplan list and kvplan explain: what a scenario can contain, from the descriptors alone.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/base/suggest.h"
#include "simulator/cli/combinations_output.h"
#include "simulator/cli/command.h"
#include "simulator/cli/list_entries.h"
#include "simulator/cli/markdown.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/server_flag_output.h"
#include "simulator/formats/formats.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/readers/catalogue.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"
#include "simulator/scenario/scenario.h"
#include "traces/import/importer.h"
#include "traces/synth/synth.h"

namespace kvplan::cli {
namespace {

struct ListFlags {
  std::string name;
  bool json{false};
  std::string markdown;  ///< folder; empty: none
};

std::vector<std::string_view> all_families() {
  std::vector<std::string_view> out(runs::families().begin(), runs::families().end());
  out.push_back(kBudgetFamily);
  out.push_back(kCodec);
  out.push_back(kModel);
  out.push_back(kDevice);
  out.push_back(kScenario);
  out.push_back(kTraceFormat);
  const auto synth = traces::synth_families();
  out.insert(out.end(), synth.begin(), synth.end());
  return out;
}

/// Calls `what` for each member of a family: (name, summary) for text, or a function that writes the member. Members of
/// other families that a scenario also accepts (codecs as its format) are included.
template <class Each>
void each_of(std::string_view family, Each each) {
  for (const Descriptor* d : runs::family_descriptors(family))
    if (d->family == family) each(d->name, d->summary, *d);
  for (const Descriptor* d : traces::synth_descriptors(family)) each(d->name, d->summary, *d);
  if (family == kCodec)
    for (const Descriptor* d : formats::format_descriptors()) each(d->name, d->summary, *d);
  if (family == kScenario)
    for (const runs::Field& field : runs::scenario_fields()) each(field.path, field.help, field);
  if (family == kModel)
    for (const model::ModelShape& m : model::models()) each(m.name, m.source, m);
  if (family == kDevice)
    for (const model::DeviceShape& d : model::devices()) each(d.name, d.title, d);
  if (family == kTraceFormat)
    for (const traces::Importer* importer : traces::importers())
      each(importer->name, importer->summary, *importer);
}

struct WriteJson {
  JsonWriter& json;
  void operator()(const Descriptor& d) const { write_descriptor(json, d); }
  void operator()(const runs::Field& field) const { write_field(json, field); }
  void operator()(const model::ModelShape& m) const { write_model(json, m); }
  void operator()(const model::DeviceShape& d) const { write_device(json, d); }
  void operator()(const traces::Importer& importer) const { write_importer(json, importer); }
};

struct ToText {
  std::string operator()(const Descriptor& d) const { return descriptor_text(d); }
  std::string operator()(const runs::Field& field) const { return field_text(field); }
  std::string operator()(const model::ModelShape& m) const { return model_text(m); }
  std::string operator()(const model::DeviceShape& d) const { return device_text(d); }
  std::string operator()(const traces::Importer& importer) const { return importer_text(importer); }
};

/// Writes the part of a family's page that describes one member, under the member's name.
struct ToPage {
  std::string operator()(const Descriptor& d) const {
    std::string out = paragraph(d.summary) + source(d.source);
    if (!d.spans.empty()) out += paragraph(d.spans);
    if (const std::string paging = paging_of(d); !paging.empty()) out += paragraph(paging);
    if (!d.divergences.empty()) out += paragraph(d.divergences);
    for (const Param& p : d.params) {
      const std::string fallback =
          p.fallback.empty() ? "must be given" : "default `" + std::string(p.fallback) + "`";
      out += markdown_item("`" + std::string(p.name) + "`: " + markdown_escaped(p.help) + " (" +
                           markdown_escaped(accepts(p)) + "; " + fallback + ").");
    }
    out += d.params.empty() ? "No parameters.\n\n" : "\n";
    const std::vector<std::string> flags = server_flag_lines(d);
    if (flags.empty()) return out;
    out += markdown_paragraph("Flags of its server:");
    for (const std::string& flag : flags) out += markdown_item(markdown_escaped(flag) + ".");
    return out + "\n";
  }
  std::string operator()(const runs::Field& field) const {
    const std::string fallback =
        field.fallback.empty() ? "no default" : "default `" + std::string(field.fallback) + "`";
    return paragraph(field.help) +
           markdown_paragraph("Accepts: " + markdown_escaped(accepts(field)) + "; " + fallback + ".");
  }
  std::string operator()(const model::ModelShape& m) const {
    std::string out = source(m.source);
    if (const std::string names = other_names(m); !names.empty()) out += paragraph(names);
    for (const std::string& line : model_lines(m)) out += markdown_item(markdown_escaped(line) + ".");
    return out + "\n";
  }
  std::string operator()(const model::DeviceShape& d) const {
    std::string out = paragraph(device_summary(d));
    for (const FigureLines& figure : figure_lines(d))
      out += markdown_item("`" + figure.value +
                           "`: " + markdown_escaped(figure.meaning + " " + figure.source) + ".");
    return out + "\n";
  }
  std::string operator()(const traces::Importer& importer) const {
    return paragraph(importer.summary) + source(importer.source);
  }
  /// A text as a paragraph: it ends in a full stop, which only some texts have.
  [[nodiscard]] static std::string paragraph(std::string_view text) {
    return markdown_paragraph(markdown_escaped(text) + (text.ends_with('.') ? "" : "."));
  }
  [[nodiscard]] static std::string source(std::string_view text) {
    return paragraph("Source: " + std::string(text));
  }
};

constexpr std::string_view kMadeBy =
    "Made by `kvplan list --markdown simulator/docs/components`, from the descriptors; do not edit.";

/// How a command line or scenario names a member of the family.
std::string family_use(std::string_view family) {
  if (family == kScenario) return "Paths of a scenario, for files and `--set`.";
  if (family == kKvFormat)
    return "Used as `format` of a scenario and as `kvplan bytes --format`; for layers with a sliding window "
           "as `window_format` and `--window-format`. A scenario also accepts members of family codec "
           "(codec.md).";
  if (family == kBudgetFamily)
    return "Used as `kvplan budget --policy`, as `--budget` of `kvplan evict` and `kvplan frontier`, and as "
           "`budget` of a scenario.";
  if (family == kCodec)
    return "Used as `kvplan format --format`, `kvplan bytes --format` and `kvplan frontier --formats`; the "
           "last two also take them as `--window-format` for layers with a sliding window. A scenario "
           "accepts them as `format` and `window_format`. Some names exist in family format too; in a "
           "scenario such a name means the member of family format, if that member has the given parameters.";
  if (family == readers::kFamily)
    return "Used as `kvplan attention read --reader`. A scenario's `reader` accepts the members with a "
           "number of read tokens that follows from lengths.";
  if (family == kReplacement)
    return "Used as `memory.replacement` of a scenario and as `kvplan cache --replacement`.";
  if (family == kDevice) return "Used as `deployment.device` of a scenario and as `kvplan pool --device`.";
  const auto synth = traces::synth_families();
  if (std::find(synth.begin(), synth.end(), family) != synth.end())
    return "Used as `kvplan trace synth --" + std::string(family) + "`.";
  std::string out;
  for (const runs::Field& field : runs::scenario_fields())
    if (field.family == family || field.path == family ||
        (family == kTraceFormat && field.path == "workload.format"))
      out += (out.empty() ? "Used as `" : " and as `") + std::string(field.path) + "`";
  return out.empty() ? out : out + " of a scenario.";
}

/// One page for each family, and an index page if all families are written.
Status write_pages(const ListFlags& flags, const std::vector<std::string_view>& chosen) {
  std::error_code failed;
  std::filesystem::create_directories(flags.markdown, failed);
  if (failed) return bad_input("cannot create the folder: " + failed.message()).at_file(flags.markdown);
  Outputs outputs;
  std::string index = "# Components\n\n" + markdown_paragraph(std::string(kMadeBy));
  for (const auto family : chosen) {
    std::string page = "# " + std::string(family) + "\n\n" + markdown_paragraph(std::string(kMadeBy));
    const std::string use = family_use(family);
    if (!use.empty()) page += markdown_paragraph(use);
    std::string names;
    each_of(family, [&](std::string_view name, const auto&, const auto& member) {
      page += "## " + std::string(name) + "\n\n" + ToPage{}(member);
      names += (names.empty() ? "`" : ", `") + std::string(name) + "`";
    });
    page.pop_back();  // removes one of the two line ends of the last paragraph
    const std::string file = std::string(family) + ".md";
    KVPLAN_TRY_DO(outputs.add(flags.markdown + "/" + file, page));
    index +=
        markdown_item(std::string("[").append(family).append("](").append(file).append("): ").append(names));
  }
  if (flags.name.empty()) KVPLAN_TRY_DO(outputs.add(flags.markdown + "/README.md", index));
  return outputs.commit();
}

/// A table with a row for each member: its name and a summary.
std::string members_of(std::string_view family) {
  report::Table table{.title = std::string(family), .columns = {""}, .rows = {}, .numbers = false};
  each_of(family, [&](std::string_view name, std::string_view summary, const auto&) {
    table.rows.push_back({.label = std::string(name), .cells = {std::string(summary)}});
  });
  return report::table_text(table, output_width()) + "\nkvplan explain NAME shows the details of one.\n";
}

/// A table with a row for each family: the names of its members.
std::string overview_of(const std::vector<std::string_view>& families) {
  report::Table table{.title = "Families and their members", .columns = {""}, .rows = {}, .numbers = false};
  for (const auto family : families) {
    std::string names;
    each_of(family, [&](std::string_view name, const auto&, const auto&) {
      names.append(names.empty() ? "" : ", ").append(name);
    });
    table.rows.push_back({.label = std::string(family), .cells = {std::move(names)}});
  }
  return report::table_text(table, output_width()) +
         "\nkvplan list FAMILY says what each member is; kvplan explain NAME says what it accepts.\n";
}

Status list(const ListFlags& flags) {
  if (flags.name == kCombinations) {
    if (!flags.markdown.empty())
      return bad_input("expected a family for --markdown, found " + flags.name).at_field("family");
    return write_text("-", flags.json ? combinations_json() : combinations_text());
  }
  const std::vector<std::string_view> known = all_families();
  std::vector<std::string_view> chosen = known;
  if (!flags.name.empty()) {
    if (std::find(known.begin(), known.end(), flags.name) == known.end())
      return bad_input(unknown_name("family", flags.name, known));
    chosen = {flags.name};
  }
  if (!flags.markdown.empty()) return write_pages(flags, chosen);
  if (flags.json) {
    JsonWriter json;
    json.begin_object().key("components").begin_array();
    for (const auto family : chosen)
      each_of(family, [&](const auto&, const auto&, const auto& member) { WriteJson{json}(member); });
    json.end_array().end_object();
    return write_text("-", json.take());
  }
  return write_text("-", flags.name.empty() ? overview_of(chosen) : members_of(flags.name));
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
  return out;
}

Status explain(const ListFlags& flags) {
  std::string text;
  JsonWriter json;
  json.begin_object().key("components").begin_array();
  std::vector<std::string_view> names;
  bool found = false;
  std::string_view wanted = flags.name;
  // An alias of a device or a model is a name too.
  if (const auto device = model::find_device(flags.name); device.ok()) wanted = device.value()->name;
  if (const auto shape = model::find_model(flags.name); shape.ok()) wanted = shape.value()->name;
  for (const auto family : all_families()) {
    each_of(family, [&](std::string_view name, const auto&, const auto& member) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      if (name != wanted) return;
      found = true;
      text += (text.empty() ? "" : "\n") + ToText{}(member);
      WriteJson{json}(member);
    });
  }
  const auto families = all_families();
  const bool is_family = std::find(families.begin(), families.end(), flags.name) != families.end();
  if (!found && is_family) return list(flags);
  if (!found) {
    std::string error = unknown_name_of_many("name", flags.name, names, "kvplan list shows all of them");
    if (const std::string hint = model::model_hint(flags.name); !hint.empty())
      error += ". As a model: " + hint;
    return bad_input(std::move(error));
  }
  if (is_family)
    text += "\n" + flags.name + " is also the name of a family: kvplan list " + flags.name +
            " lists its members.\n";
  json.end_array().end_object();
  return write_text("-", flags.json ? json.take() : text);
}

}  // namespace

void add_list(Command& app, Outcome& outcome) {
  auto flags = std::make_shared<ListFlags>();
  Command* const list_command = app.add_subcommand(
      "list", "List components, models, devices, scenario paths and trace formats by family");
  list_command->add_option("family", flags->name,
                           "One of " + joined(all_families()) + "; without it, all families are listed. `" +
                               std::string(kCombinations) + "`: which choices of a scenario work together");
  Option* const as_json = list_command->add_flag("--json", flags->json, "JSON on standard output");
  list_command
      ->add_option("--markdown", flags->markdown, "Write one Markdown page per family into this folder")
      ->excludes(as_json);
  run_as(*list_command, outcome, [flags] { return list(*flags); });

  Command* const explain_command = app.add_subcommand(
      "explain", "Explain a component, model, device, scenario path or trace format, and its parameters");
  explain_command
      ->add_option("name", flags->name,
                   "Name as `kvplan list` prints it. The name of a family lists its members, unless "
                   "something else has the same name")
      ->required();
  explain_command->add_flag("--json", flags->json, "JSON on standard output");
  run_as(*explain_command, outcome, [flags] { return explain(*flags); });
}

}  // namespace kvplan::cli
