#include "simulator/cli/attention_read_command.h"

#include <algorithm>
#include <memory>

#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/recording_input.h"
#include "simulator/frontier/lanes.h"
#include "simulator/io/head_scores.h"
#include "simulator/readers/evaluation.h"
#include "simulator/report/read_output.h"

namespace kvplan::cli {
namespace {

struct ReadFlags {
  std::string input, readers, budgets, json, csv;
  std::int64_t prompt{0};
  std::int32_t sequence{-1}, layer{-1};
  int threads{1};
};

Status read_tables(readers::ReaderChoice& reader) {
  for (const Param& param : reader.choice.descriptor().params) {
    if (!param.names_file) continue;
    auto table = io::read_head_scores(reader.choice.text(param.name));
    if (!table.ok())
      return bad_input(table.error().to_string())
          .at_field(std::string(reader.choice.name()) + ":" + std::string(param.name));
    reader.tables.push_back(std::move(table).value());
  }
  return Done{};
}

Result<readers::Lane> lane_of(const std::string& text, std::optional<std::int64_t> budget) {
  auto reader = readers::parse_reader(text, budget);
  if (!reader.ok()) return bad_input(reader.error().to_string()).at_field("--reader");
  KVPLAN_TRY_DO(read_tables(reader.value()));
  if (reader.value().kind->budget.empty()) budget.reset();
  return readers::Lane{.reader = std::move(reader).value(), .budget = budget};
}

/// Combines each reader with each budget; readers that take no budget occur once.
Result<std::vector<readers::Lane>> lanes_of(const ReadFlags& flags) {
  auto texts = frontier::split_components(flags.readers);
  if (!texts.ok()) return std::move(texts).error().at_field("--reader");
  std::vector<std::optional<std::int64_t>> budgets{std::nullopt};
  if (!flags.budgets.empty()) {
    KVPLAN_TRY(const auto numbers, different_numbers(flags.budgets, {1, std::int64_t{1} << 30}, "--budgets"));
    budgets.assign(numbers.begin(), numbers.end());
  }
  std::vector<readers::Lane> out;
  for (const std::string& text : texts.value())
    for (const auto& budget : budgets) {
      KVPLAN_TRY(readers::Lane lane, lane_of(text, budget));
      const bool once = !lane.budget.has_value();
      out.push_back(std::move(lane));
      if (once) break;
    }
  const bool takes =
      std::any_of(out.begin(), out.end(), [](const auto& lane) { return lane.budget.has_value(); });
  if (!flags.budgets.empty() && !takes)
    return bad_input("expected at least one sparse attention method that takes a budget, found none")
        .at_field("--budgets");
  return out;
}

Status run(const ReadFlags& flags) {
  if (flags.json == "-" && flags.csv == "-")
    return bad_input("expected at most one output on standard output");
  KVPLAN_TRY_DO(check_apart({flags.input}, {flags.json, flags.csv}));
  readers::Request request;
  KVPLAN_TRY(request.lanes, lanes_of(flags));
  for (const readers::Lane& lane : request.lanes)
    KVPLAN_TRY_DO(check_apart(lane.reader.choice.files(), {flags.json, flags.csv}));
  request.prompt = flags.prompt;
  request.threads = flags.threads;
  request.keep_records = !flags.csv.empty();
  if (flags.sequence >= 0) request.sequence = flags.sequence;
  if (flags.layer >= 0) request.layer = flags.layer;
  KVPLAN_TRY(const auto recording, open_recording(flags.input));
  auto found = readers::evaluate(*recording, request, []() -> Status {
    if (interrupted()) return interrupted_error();
    return Done{};
  });
  if (!found.ok()) {
    const bool of_file = found.error().field.empty() && found.error().file.empty() &&
                         found.error().kind == ErrorKind::kBadInput;
    return of_file ? std::move(found).error().at_file(flags.input) : std::move(found).error();
  }
  Outputs outputs;
  if (!flags.json.empty())
    KVPLAN_TRY_DO(outputs.add(flags.json, report::read_json(flags.input, request, found.value())));
  if (!flags.csv.empty()) KVPLAN_TRY_DO(outputs.add(flags.csv, report::read_csv(request, found.value())));
  KVPLAN_TRY_DO(outputs.commit());
  if (flags.json == "-" || flags.csv == "-") {
    print_warnings(found.value().assumptions);
    return Done{};
  }
  return write_text("-", report::read_text(request, found.value(), output_width()));
}

}  // namespace

void add_attention_read(Command& attention, Outcome& outcome) {
  auto flags = std::make_shared<ReadFlags>();
  Command* const command =
      attention.add_subcommand("read",
                               "Evaluate sparse attention, which keeps the whole cache and reads a part of "
                               "it at each step: attention mass, output error and bytes read");
  command
      ->add_option("INPUT", flags->input,
                   "A .kva recording with queries and keys. Output errors need values too")
      ->required();
  command
      ->add_option(
          "--reader", flags->readers,
          "'NAME[:key=value,...];...': sparse attention methods (kvplan list reader), compared side by side")
      ->required();
  command->add_option(
      "--budgets", flags->budgets,
      "N[,N...]: budgets in tokens. Each method that takes a budget runs once with each of them");
  add_whole_number(
      *command, "--prefill", flags->prompt, {1, INT32_MAX},
      "Tokens of the prompt. Default: the recorded prompt length, else the first half of a sequence")
      ->default_str("");
  add_whole_number(*command, "--sequence", flags->sequence, {0, INT32_MAX}, "Use only this sequence")
      ->default_str("");
  add_whole_number(*command, "--layer", flags->layer, {0, INT32_MAX}, "Use only this layer")->default_str("");
  add_layer_threads(*command, flags->threads);
  add_json_option(*command, flags->json,
                  "one result per method, with a summary and means by layer, head and step");
  command->add_option(
      "--csv", flags->csv,
      "Write one CSV line per method, sequence, layer, step and KV head to FILE, or - for standard output");
  command->footer(
      "bytes_read counts a token once per KV head, no matter how many of its query heads read it. "
      "bytes_read_by_query_heads counts it once per query head that reads it. Metadata is the data by which "
      "a method selects tokens: page bounds, partial keys, cluster centres. Nothing is evicted, and cache "
      "and metadata lie in the same memory.");
  run_as(*command, outcome, [flags] { return run(*flags); });
}

}  // namespace kvplan::cli
