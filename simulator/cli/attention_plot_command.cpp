#include "simulator/cli/attention_plot_command.h"

#include <algorithm>
#include <memory>

#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/recording_input.h"
#include "simulator/formats/analysis.h"
#include "simulator/picture/png.h"
#include "simulator/report/charts.h"
#include "simulator/report/number_text.h"
#include "simulator/survey/page.h"
#include "simulator/survey/plot_output.h"

namespace kvplan::cli {
namespace {

struct PlotFlags {
  std::string input, output, json, sequences, maps, theme;
  std::int32_t sequence{-1}, layer{-1}, head{-1};
  std::int64_t rank_tokens{survey::kRankTokens};
  int threads{1};

  [[nodiscard]] bool asks_for_a_head() const { return sequence >= 0 || layer >= 0 || head >= 0; }
};

enum class Form : std::uint8_t { kNone, kSvg, kHtml, kCsv, kPng };

/// The form follows from the end of the name; a compression suffix may follow.
Result<Form> form_of(std::string_view path) {
  if (path.empty()) return Form::kNone;
  for (const std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  constexpr std::pair<std::string_view, Form> kForms[] = {
      {".svg", Form::kSvg}, {".html", Form::kHtml}, {".csv", Form::kCsv}, {".png", Form::kPng}};
  for (const auto& [end, form] : kForms)
    if (path.ends_with(end)) return form;
  return not_expected("a file name that ends in .svg, .html, .csv or .png", std::string(path))
      .at_field("--output");
}

std::vector<std::string> parted(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Result<std::vector<std::int32_t>> sequences_of(const std::string& text) {
  std::vector<std::int32_t> out;
  if (text.empty()) return out;
  for (const std::string& part : parted(text)) {
    const auto read = read_whole_number(part, {0, INT32_MAX});
    if (!read.ok()) return bad_input(read.error().message).at_field("--sequences");
    out.push_back(static_cast<std::int32_t>(read.value()));
  }
  std::sort(out.begin(), out.end());
  if (const auto twice = std::adjacent_find(out.begin(), out.end()); twice != out.end())
    return bad_input(std::to_string(*twice) + " is given twice").at_field("--sequences");
  return out;
}

constexpr std::string_view kAttention = "attention";

/// Keeps the requested maps of `all`, in the requested order; keeps all if none were requested.
Status choose(const std::string& asked, std::vector<survey::Map>& all,
              std::optional<survey::AttentionMap>& attention) {
  if (asked.empty()) return Done{};
  const std::vector<std::string> keys = parted(asked);
  const auto wanted = [&](std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const std::string& key : keys) {
    const bool there = (key == kAttention && attention) ||
                       std::any_of(all.begin(), all.end(), [&](const auto& map) { return map.key == key; });
    if (there) continue;
    std::string known;
    for (const survey::Map& map : all) known += (known.empty() ? "" : ", ") + map.key;
    if (attention) known += (known.empty() ? "" : ", ") + std::string(kAttention);
    return not_expected("one of this recording's maps (" + known + ")", key).at_field("--maps");
  }
  std::erase_if(all, [&](const survey::Map& map) { return !wanted(map.key); });
  if (!wanted(kAttention)) attention.reset();
  return Done{};
}

/// The attention map of one head; nothing if no layer has rows and no map was requested.
Result<std::optional<survey::AttentionMap>> attention_of(const attention::Recording& recording,
                                                         const PlotFlags& flags, survey::Place& at,
                                                         const survey::Pause& pause) {
  const attention::RecordingInfo& info = recording.info();
  if (flags.layer < 0) {
    bool any = false;
    for (const std::int32_t number : info.layer_numbers()) {
      if (recording.tokens(at.sequence, number) == 0 || !info.layer(number).has_rows()) continue;
      at.layer = number;
      any = true;
      break;
    }
    if (!any && !flags.asks_for_a_head()) return std::optional<survey::AttentionMap>{};
  }
  KVPLAN_TRY(auto map, survey::attention_map(recording, at, std::max(flags.head, 0), pause));
  return std::optional(std::move(map));
}

std::string command_line(const PlotFlags& flags) {
  std::string out = "kvplan attention plot " + report::shell_quoted(flags.input);
  const auto number = [&](const char* name, std::int32_t value) {
    if (value >= 0) out += " " + std::string(name) + " " + std::to_string(value);
  };
  if (!flags.sequences.empty()) out += " --sequences " + flags.sequences;
  if (flags.rank_tokens != survey::kRankTokens) out += " --rank-tokens " + std::to_string(flags.rank_tokens);
  number("--sequence", flags.sequence);
  number("--layer", flags.layer);
  number("--head", flags.head);
  if (!flags.maps.empty()) out += " --maps " + report::shell_quoted(flags.maps);
  return out + " -o " + report::shell_quoted(flags.output);
}

Result<std::string> drawn(const PlotFlags& flags, Form form, const survey::Plots& plots,
                          const std::string& title) {
  if (form == Form::kCsv) return survey::plot_csv(plots);
  std::vector<survey::Map> maps =
      survey::maps_of(plots.survey, plots.attention ? plots.attention->at.layer : std::max(flags.layer, 0));
  std::optional<survey::AttentionMap> attention = plots.attention;
  KVPLAN_TRY_DO(choose(flags.maps, maps, attention));
  const survey::Plots chosen{plots.survey, attention};
  if (form == Form::kHtml) return survey::page(chosen, maps, title, command_line(flags));
  const survey::Sheet sheet = survey::sheet(maps, attention, title);
  const std::string svg = survey::document(sheet);
  if (form == Form::kSvg) return svg;
  const auto theme = flags.theme == "dark" ? report::Theme::kDark : report::Theme::kLight;
  auto png = picture::png_of_svg(report::in_theme(svg, theme),
                                 {static_cast<int>(sheet.size.width), static_cast<int>(sheet.size.height)});
  if (!png.ok()) return std::move(png).error().at_file(flags.output);
  return png;
}

/// Rejects options that would have no effect.
Status check_used(const PlotFlags& flags, Form form) {
  if (!flags.theme.empty()) {
    if (flags.theme != "light" && flags.theme != "dark")
      return not_expected("light or dark", flags.theme).at_field("--theme");
    if (form != Form::kPng)
      return bad_input("expected -o FILE.png: only PNG pictures have a theme").at_field("--theme");
  }
  if (!flags.maps.empty() && (form == Form::kNone || form == Form::kCsv))
    return bad_input("expected -o FILE.svg, .html or .png: only drawings have maps").at_field("--maps");
  if (form != Form::kNone || !flags.json.empty()) return Done{};
  constexpr std::string_view kNeeds =
      "expected -o FILE or --json FILE: this option selects the head of the attention map that is drawn or "
      "written";
  if (flags.sequence >= 0) return bad_input(std::string(kNeeds)).at_field("--sequence");
  if (flags.head >= 0) return bad_input(std::string(kNeeds)).at_field("--head");
  return Done{};
}

Status run_plot(const PlotFlags& flags) {
  KVPLAN_TRY_DO(check_apart({flags.input}, {flags.json, flags.output}));
  KVPLAN_TRY(const Form form, form_of(flags.output));
  KVPLAN_TRY_DO(check_used(flags, form));
  survey::Request request{.sequences = {}, .threads = flags.threads, .rank_tokens = flags.rank_tokens};
  KVPLAN_TRY(request.sequences, sequences_of(flags.sequences));
  KVPLAN_TRY(const auto recording, open_recording(flags.input));
  request.recording = recording.get();
  const survey::Pause pause = []() -> Status {
    if (interrupted()) return interrupted_error();
    return Done{};
  };
  survey::Place at{.sequence = flags.sequence >= 0
                                   ? flags.sequence
                                   : (request.sequences.empty() ? 0 : request.sequences.front()),
                   .layer = std::max(flags.layer, 0)};
  // Checked before the work begins; --sequences is checked when it begins.
  if (flags.sequence >= static_cast<std::int64_t>(recording->info().sequences.size()) ||
      (flags.layer >= 0 && (flags.sequence >= 0 || request.sequences.empty())))
    KVPLAN_TRY_DO(attention::check_recorded_layer(*recording, at.sequence, at.layer));
  KVPLAN_TRY(const survey::Survey found, survey::run(request, pause));
  KVPLAN_TRY(const auto attention, attention_of(*recording, flags, at, pause));
  const survey::Plots plots{found, attention};
  const attention::RecordingInfo& info = recording->info();
  Outputs outputs;
  if (!flags.json.empty())
    KVPLAN_TRY_DO(outputs.add(flags.json, survey::plot_json({flags.input, info}, plots)));
  if (form != Form::kNone) {
    const std::string title = flags.input + (info.model.empty() ? "" : ": " + info.model);
    KVPLAN_TRY(const std::string bytes, drawn(flags, form, plots, title));
    KVPLAN_TRY_DO(outputs.add(flags.output, bytes));
  }
  KVPLAN_TRY_DO(outputs.commit());
  if (form != Form::kNone || !flags.json.empty()) {
    print_warnings(found.notes);
    return Done{};
  }
  return write_text("-",
                    survey::plot_text(plots, flags.layer >= 0 ? std::optional(flags.layer) : std::nullopt));
}

}  // namespace

void add_attention_plot(Command& attention, Outcome& outcome) {
  auto flags = std::make_shared<PlotFlags>();
  Command* const command =
      attention.add_subcommand("plot",
                               "Plot a whole recording by layer and head: sparsity, entropy, sinks, "
                               "locality, heavy tokens, ranks and overlaps, as tables, maps and numbers");
  command
      ->add_option("INPUT", flags->input,
                   "A .kva recording, attention rows as JSON, or a JSON file that names raw tensor files")
      ->required();
  command->add_option("-o,--output", flags->output,
                      "Output file. FILE.svg or FILE.png: one sheet with all maps; FILE.html: a page with "
                      "maps and tables; FILE.csv: all numbers. Without it, tables are printed as text");
  add_json_option(*command, flags->json, "all numbers, with the definition of each");
  command->add_option(
      "--sequences", flags->sequences,
      "N[,N...]: sequences to pool; all of them have the same weight. Default: all sequences");
  add_whole_number(*command, "--sequence", flags->sequence, {0, INT32_MAX},
                   "Sequence of the attention map that is drawn. Default: the first pooled sequence")
      ->default_str("");
  add_whole_number(
      *command, "--layer", flags->layer, {0, INT32_MAX},
      "Layer of the attention map and the head-overlap map that are drawn; text output prints the tables "
      "of its heads. Default: the first layer with attention rows")
      ->default_str("");
  add_whole_number(
      *command, "--head", flags->head, {0, INT32_MAX},
      "Query head of the attention map that is drawn, counted among the recorded query heads. Default: 0")
      ->default_str("");
  command->add_option("--maps", flags->maps,
                      "KEY[,KEY...]: draw only these maps (keys of the figures in the JSON output, "
                      "layer_overlap, head_overlap, attention). Default: all maps");
  command
      ->add_option("--theme", flags->theme,
                   "Theme of a .png: light or dark. SVG and HTML files follow the browser's setting")
      ->capture_default_str();
  add_whole_number(
      *command, "--rank-tokens", flags->rank_tokens, {0, formats::kMostRankTokens},
      "Longest sequence, in tokens, for which attention-map ranks are computed: the time grows with "
      "the cube of the length. 0: compute no ranks");
  add_layer_threads(*command, flags->threads);
  run_as(*command, outcome, [flags] { return run_plot(*flags); });
}

}  // namespace kvplan::cli
