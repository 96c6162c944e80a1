#include "simulator/cli/replacement_command.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/program.h"
#include "simulator/cli/command.h"
#include "simulator/cli/number_option.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/trace_input.h"
#include "simulator/replacement/flow_bound.h"
#include "simulator/replacement/lru_curve.h"
#include "simulator/replacement/replacements.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::cli {

using replacement::Hits;
using replacement::References;

struct ReplacementCommand::Flags {
  Command* command{nullptr};
  std::vector<const Option*> allowed;  // options that may be combined with --replacement
  std::string names, capacities, mode{"object"}, json, curve, sample;
  bool bound{false};
  std::int64_t seed{0};
};

namespace {

constexpr WholeRange kCapacities{1, std::int64_t{1} << 40};
/// One pass over all sizes takes about as long as this many sizes one by one.
constexpr std::size_t kSizesWorthAPass = 10;

struct Line {
  std::string name;
  std::int64_t capacity{0};
  std::int64_t hits{0};
  double hit_rate{0};
  std::optional<double> standard_error;
  std::optional<replacement::FlowBound> bound;
  const Choice* choice{nullptr};  // null: not a policy
};

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

/// Parses `NAME[:key=value[,key=value...]][,NAME...]`: a part key=value belongs to the name before it.
Result<std::vector<Choice>> choices_of(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : parts_of(text)) {
    const std::size_t sign = part.find_first_of(":=");
    if (!names.empty() && sign != std::string::npos && part[sign] == '=') {
      names.back() += "," + part;
    } else {
      names.push_back(part);
    }
  }
  std::vector<Choice> choices;
  for (const std::string& name : names) {
    auto choice = parse_component(name, "replacement", replacement::replacement_descriptors());
    if (!choice.ok()) return bad_input(choice.error().to_string()).at_field("--replacement");
    if (replacement::replacement_entry(choice.value()).replay == nullptr)
      return bad_input("\"" + name +
                       "\" is how an engine's own pool hands out blocks, so it needs requests that hold and "
                       "free blocks: use memory.replacement of `kvplan run`, or `kvplan cache --driver`")
          .at_field("--replacement");
    choices.push_back(std::move(choice).value());
  }
  return choices;
}

Result<std::vector<std::int64_t>> capacities_of(const std::string& text) {
  std::vector<std::int64_t> out;
  for (const std::string& part : parts_of(text)) {
    auto number = read_whole_number(part, kCapacities);
    if (!number.ok()) return std::move(number).error().at_field("--capacity-blocks");
    out.push_back(number.value());
  }
  return out;
}

void write_params(JsonWriter& json, const Line& line, const std::string& sample) {
  json.key("params").begin_object();
  if (line.bound) json.member("method", line.bound->method).member("intervals", line.bound->intervals);
  if (line.choice != nullptr) {
    for (const Param& param : line.choice->descriptor().params) {
      if (!line.choice->says(param.name)) continue;
      json.key(param.name);
      if (param.kind == ParamKind::kInteger) {
        json.value(line.choice->integer(param.name));
      } else if (param.kind == ParamKind::kFlag) {
        json.value(line.choice->flag(param.name));
      } else {
        json.digits(line.choice->text(param.name));
      }
    }
  }
  if (line.standard_error) json.member("sample", sample);
  json.end_object();
}

/// "capacity_blocks,hits,hit_rate" at every capacity where a number changes.
std::string curve_csv(const References& refs, const replacement::LruCurve& curve, bool prefix) {
  std::string out = "capacity_blocks,hits,hit_rate\n";
  std::int64_t before = -1;
  for (std::size_t c = 0; c < curve.hits.size(); ++c) {
    const std::int64_t hits = prefix ? curve.hits[c].prefix : curve.hits[c].object;
    if (hits == before) continue;
    before = hits;
    char rate[32];
    std::snprintf(rate, sizeof(rate), "%.9f", static_cast<double>(hits) / static_cast<double>(refs.count()));
    out += std::to_string(c) + "," + std::to_string(hits) + "," + rate + "\n";
  }
  return out;
}

std::string curve_csv(const References& refs, const replacement::SampledCurve& curve) {
  std::string out = "capacity_blocks,hits,hit_rate,standard_error\n";
  for (const std::int64_t capacity : curve.capacities()) {
    const auto [rate, error] = curve.at(capacity);
    char numbers[64];
    std::snprintf(numbers, sizeof(numbers), "%.9f,%.9f", rate, error);
    out += std::to_string(capacity) + "," +
           std::to_string(std::llround(rate * static_cast<double>(refs.count()))) + "," + numbers + "\n";
  }
  return out;
}

/// All that a command line requested.
class Study {
 public:
  Study(const References& refs, bool prefix) : refs_(refs), prefix_(prefix) {}

  Status sample(const std::string& text, std::int64_t seed) {
    auto rate = parse_fraction(text);
    if (!rate.ok()) return std::move(rate).error().at_field("--sample");
    if (rate.value().numerator > rate.value().denominator)
      return bad_input("expected a share of the blocks above 0, at most 1").at_field("--sample");
    KVPLAN_TRY(sampled_, replacement::sampled_lru_curve(refs_, rate.value(), static_cast<std::uint64_t>(seed),
                                                        interrupted));
    return Done{};
  }
  Status draw_curve() {
    KVPLAN_TRY(curve_, replacement::lru_curve(refs_, interrupted));
    return Done{};
  }
  [[nodiscard]] std::string curve() const {
    return sampled_ ? curve_csv(refs_, *sampled_) : curve_csv(refs_, *curve_, prefix_);
  }

  Status play(const Choice& choice, std::int64_t capacity) {
    Line line{.name = std::string(choice.name()),
              .capacity = capacity,
              .standard_error = std::nullopt,
              .bound = std::nullopt,
              .choice = &choice};
    if (sampled_) {
      const auto [rate, error] = sampled_->at(capacity);
      line.hits = std::llround(rate * static_cast<double>(refs_.count()));
      line.hit_rate = rate;
      line.standard_error = error;
      lines_.push_back(line);
      return Done{};
    }
    const bool known = curve_ && replacement::replacement_entry(choice).one_pass_curve;
    Hits hits;
    if (known) {
      hits = curve_->at(capacity);
    } else {
      KVPLAN_TRY(hits, replacement::replacement_entry(choice).replay(choice, refs_, capacity, interrupted));
    }
    line.hits = prefix_ ? hits.prefix : hits.object;
    add(line);
    return Done{};
  }
  Status play_bound(std::int64_t capacity) {
    KVPLAN_TRY(const replacement::FlowBound bound, replacement::flow_bound(refs_, capacity, interrupted));
    add({.name = "flow-bound",
         .capacity = capacity,
         .hits = bound.hits,
         .hit_rate = 0,
         .standard_error = std::nullopt,
         .bound = bound,
         .choice = nullptr});
    return Done{};
  }
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }

 private:
  void add(Line line) {
    line.hit_rate = static_cast<double>(line.hits) / static_cast<double>(refs_.count());
    lines_.push_back(std::move(line));
  }
  const References& refs_;
  bool prefix_;
  std::optional<replacement::LruCurve> curve_;
  std::optional<replacement::SampledCurve> sampled_;
  std::vector<Line> lines_;
};

std::string json_of(const traces::Trace& trace, const std::vector<Line>& lines, const std::string& mode,
                    const std::string& sample) {
  JsonWriter json;
  json.begin_object().member("block_tokens", trace.prefix.block_tokens);
  json.member("references", static_cast<std::int64_t>(trace.prefix.ids.size()));
  json.member("distinct", trace.prefix.distinct).member("mode", mode).key("results").begin_array();
  for (const Line& line : lines) {
    json.begin_object().member("replacement", line.name).member("capacity_blocks", line.capacity);
    json.member("mode", mode).member("hits", line.hits).member("hit_rate", line.hit_rate);
    if (line.standard_error) json.member("standard_error", *line.standard_error);
    write_params(json, line, sample);
    json.end_object();
  }
  json.end_array().member("trace", trace.digest).member("version", KVPLAN_VERSION).end_object();
  return json.take();
}

std::string text_of(const traces::Trace& trace, const std::vector<Line>& lines, const std::string& mode) {
  const auto references = static_cast<std::int64_t>(trace.prefix.ids.size());
  report::Table table{.title = "Hit rate by capacity in blocks (" + mode + " mode)",
                      .columns = {},
                      .rows = {},
                      .numbers = true};
  for (const Line& line : lines) {
    // The table has one row for each policy with its parameters; the sizes of a policy are adjacent.
    std::string label = line.choice != nullptr ? line.choice->to_string() : line.name;
    const bool same = !table.rows.empty() && table.rows.back().label == label;
    if (!same) table.rows.push_back({.label = std::move(label), .cells = {}});
    std::vector<std::string>& cells = table.rows.back().cells;
    const std::string size = report::grouped(line.capacity);
    if (table.columns.size() <= cells.size()) table.columns.push_back(size);
    std::string cell = report::percent(line.hit_rate);
    if (line.standard_error) cell += " \xC2\xB1" + report::percent(*line.standard_error);
    cells.push_back(std::move(cell));
  }
  const auto most = static_cast<double>(references - trace.prefix.distinct) / static_cast<double>(references);
  return report::grouped(references) + " references to " + report::grouped(trace.prefix.distinct) +
         " different blocks of " + report::grouped(trace.prefix.block_tokens) +
         " tokens. A cache of unlimited size hits " + report::percent(most) + " of them.\n\n" +
         report::table_text(table, output_width());
}

/// Rejects options that --replacement does not use.
Status check_options(const Command& command, const std::vector<const Option*>& allowed) {
  for (const Option* option : command.options())
    if (option->given() && std::find(allowed.begin(), allowed.end(), option) == allowed.end())
      return bad_input("cannot be combined with --replacement").at_field(option->name());
  return Done{};
}

}  // namespace

ReplacementCommand::ReplacementCommand(Command& command) : flags_(std::make_shared<Flags>()) {
  Flags& flags = *flags_;
  flags.command = &command;
  Option* const names = command.add_function(
      "--replacement",
      [flags = flags_](const std::string& text) -> Status {
        flags->names = text;
        for (Option* option : flags->command->options())
          if (!option->positional()) option->required(false);
        return Done{};
      },
      "Compute hit-rate curves instead of replaying an engine (--driver): replay the block references "
      "through caches with these replacement policies, NAME[:key=value,...][,NAME...] (kvplan list "
      "replacement). belady, the optimum, is always added");
  names->read_at_once();
  const auto add = [&](const char* name, std::string& to, const char* help) {
    return command.add_option(name, to, help)->needs(names);
  };
  add("--capacity-blocks", flags.capacities, "Cache sizes in blocks, N[,N...] (--replacement)");
  add("--mode", flags.mode,
      "object: each block reference is a request by itself; prefix: a block hits only if all earlier blocks "
      "of the same prompt hit (--replacement)")
      ->one_of({"object", "prefix"})
      ->capture_default_str();
  add("--json", flags.json, "Write the results as JSON to FILE, or - for standard output (--replacement)");
  add("--curve", flags.curve,
      "Write the LRU hit rates at all sizes as CSV to FILE, or - for standard output (--replacement lru)");
  Option* const sample = add("--sample", flags.sample,
                             "Estimate LRU from a random sample with this share of the blocks, such as 0.01, "
                             "and give the standard error (--replacement lru, --mode object)");
  add_whole_number(command, "--sample-seed", flags.seed, {0, INT64_MAX},
                   "Seed that decides which blocks are sampled (--sample)")
      ->needs(sample);
  command
      .add_flag("--bound", flags.bound, "Add an upper bound on the hit rate of any policy (--replacement)")
      ->needs(names);
  for (const Option* option : command.options()) flags.allowed.push_back(option);
}

ReplacementCommand::~ReplacementCommand() = default;

bool ReplacementCommand::given() const {
  return flags_->command->option("--replacement").given();
}

Status ReplacementCommand::run(const std::string& path, const traces::ImportOptions& import) const {
  const Flags& flags = *flags_;
  KVPLAN_TRY_DO(check_options(*flags.command, flags.allowed));
  KVPLAN_TRY(std::vector<Choice> choices, choices_of(flags.names));
  if (flags.capacities.empty() && flags.curve.empty())
    return bad_input("expected " + expected_text(kCapacities) + ", or several with commas between")
        .at_field("--capacity-blocks");
  std::vector<std::int64_t> capacities;
  if (!flags.capacities.empty()) {
    KVPLAN_TRY(capacities, capacities_of(flags.capacities));
  }
  const auto in_one_pass = [](const Choice& c) { return replacement::replacement_entry(c).one_pass_curve; };
  const auto is_optimal = [](const Choice& c) { return replacement::replacement_entry(c).optimal; };
  const bool any_curve = std::any_of(choices.begin(), choices.end(), in_one_pass);
  const bool only_curves = std::all_of(choices.begin(), choices.end(), in_one_pass);
  const bool prefix = flags.mode == "prefix";
  if (!flags.curve.empty() && !any_curve)
    return bad_input("expected lru in --replacement: only LRU has a curve over all sizes")
        .at_field("--curve");
  if (!flags.sample.empty() && (!only_curves || prefix || flags.bound))
    return bad_input("expected --replacement lru and --mode object, without --bound").at_field("--sample");
  if (flags.json == "-" && flags.curve == "-")
    return bad_input("expected at most one output on standard output");
  KVPLAN_TRY_DO(check_apart({path}, {flags.json, flags.curve}));

  KVPLAN_TRY(const traces::Trace trace, read_trace(path, import));
  auto made = replacement::references_of(trace);
  if (!made.ok()) return std::move(made).error().at_file(path);
  const References& refs = made.value();
  for (const Choice& choice : choices)
    if (replacement::replacement_entry(choice).uses_time && !trace.shares_clock)
      return bad_input(std::string(choice.name()) +
                       " needs arrival times, but the requests of this trace have no common clock")
          .at_file(path);
  // Every curve is shown with the optimum.
  if (flags.sample.empty() && !capacities.empty() &&
      std::none_of(choices.begin(), choices.end(), is_optimal)) {
    for (const replacement::ReplacementEntry* entry : replacement::replacements()) {
      if (!entry->optimal) continue;
      KVPLAN_TRY(Choice optimal, parse_component(entry->descriptor.name, entry->descriptor.family,
                                                 replacement::replacement_descriptors()));
      choices.push_back(std::move(optimal));
    }
  }

  Study study(refs, prefix);
  std::atomic<std::int64_t> done{0};
  const auto all = static_cast<std::int64_t>(capacities.size() * (choices.size() + (flags.bound ? 1 : 0)));
  Progress progress([&] { return progress_bar(done.load(), std::max<std::int64_t>(1, all)); });
  if (!flags.sample.empty()) {
    KVPLAN_TRY_DO(study.sample(flags.sample, flags.seed));
  } else if (!flags.curve.empty() || (any_curve && capacities.size() > kSizesWorthAPass)) {
    KVPLAN_TRY_DO(study.draw_curve());
  }
  for (const Choice& choice : choices) {
    for (const std::int64_t capacity : capacities) {
      KVPLAN_TRY_DO(study.play(choice, capacity));
      ++done;
    }
  }
  for (const std::int64_t capacity : capacities) {
    if (!flags.bound) break;
    KVPLAN_TRY_DO(study.play_bound(capacity));
    ++done;
  }
  progress.end();
  print_warnings(trace.provenance.warnings);
  Outputs outputs;
  KVPLAN_TRY_DO(outputs.add(flags.json, json_of(trace, study.lines(), flags.mode, flags.sample)));
  if (!flags.curve.empty()) KVPLAN_TRY_DO(outputs.add(flags.curve, study.curve()));
  if (flags.json.empty() && flags.curve != "-" && !capacities.empty())
    KVPLAN_TRY_DO(outputs.add("-", text_of(trace, study.lines(), flags.mode)));
  return outputs.commit();
}

}  // namespace kvplan::cli
