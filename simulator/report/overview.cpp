#include "simulator/report/overview.h"

#include <algorithm>
#include <array>

#include "simulator/base/component.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"
#include "simulator/run/summary.h"

namespace kvplan::report {
namespace {

using runs::RunSummary;

/// At most this many replicas get a row; if there are more, only the first ones do.
constexpr std::size_t kMostReplicas = 6;
/// Lines of the table of replicas besides its rows: a blank line, its title and its head.
constexpr std::size_t kReplicasHead = 3;
/// Lines kept free for assumptions: a blank line, their title, a sentence of four lines, and the number of the
/// others.
constexpr std::size_t kAssumedLines = 7;

std::string bytes_of(std::int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

std::string rate_text(const std::optional<double>& rate) {
  return rate ? rounded(*rate) : "-";
}

/// Rows of text: a label and a sentence with numbers.
class Words {
 public:
  explicit Words(std::string title)
      : table_{.title = std::move(title), .columns = {""}, .rows = {}, .numbers = false} {}
  void row(std::string label, std::string text) {
    table_.rows.push_back({.label = std::move(label), .cells = {std::move(text)}});
  }
  [[nodiscard]] const Table& table() const { return table_; }

 private:
  Table table_;
};

Table work_table(const RunSummary& r) {
  Words words("Work");
  std::string requests = grouped(r.arrived) + " arrived, " + grouped(r.completed) + " completed, " +
                         grouped(r.rejected) + " rejected";
  if (r.unfinished > 0) requests += ", " + grouped(r.unfinished) + " unfinished";
  words.row("requests",
            requests + "; " + grouped(r.preemptions) + (r.preemptions == 1 ? " preemption" : " preemptions"));
  std::string tokens = grouped(r.input_tokens) + " input, " + grouped(r.output_tokens) + " output, " +
                       grouped(r.computed_tokens) + " computed";
  if (r.recomputed_tokens > 0) tokens += " (" + grouped(r.recomputed_tokens) + " again)";
  tokens += ", " + grouped(r.prefix_hit_tokens) + " prefix hits";
  if (r.rehit_tokens > 0) tokens += ", " + grouped(r.rehit_tokens) + " hit again after preemption";
  words.row("tokens", std::move(tokens));
  words.row("rates", rate_text(r.requests_per_s) + " requests/s, " + rate_text(r.output_tokens_per_s) +
                         " output tokens/s over " + seconds_text(seconds(r.makespan)));
  if (r.slo_met_fraction)
    words.row("goodput", rate_text(r.goodput_per_s) + " requests/s that meet all targets");
  words.row("batch", rate_text(r.mean_running) + " requests on average, at most " + grouped(r.max_running) +
                         "; " + grouped(r.iterations) + " steps");
  if (r.cost) {
    const auto million = runs::cost_per_million_output_tokens(r);
    words.row("cost", rounded(r.cost->per_hour) + " " + r.cost->currency + " an hour for " +
                          grouped(runs::gpus_of(r)) + (runs::gpus_of(r) == 1 ? " GPU" : " GPUs") + " (" +
                          grouped(r.cost->nodes) + (r.cost->nodes == 1 ? " node)" : " nodes)") +
                          (million ? ", " + rounded(*million) + " per million output tokens" : ""));
  }
  return words.table();
}

/// Results that only some runs have: token policies, ranges that move, ranks.
Table more_table(const RunSummary& r) {
  Words words("Also");
  if (r.scenario.eviction) {
    std::string text = grouped(r.evicted_tokens) + " tokens evicted, " + grouped(r.evicted_blocks) +
                       " blocks freed, at most " + bytes_of(r.hole_bytes_peak) + " in holes";
    if (r.compactions > 0)
      text += ", " + grouped(r.compactions) + " compactions that kept " + bytes_of(r.compaction_bytes);
    words.row("token policy", std::move(text));
    if (r.coverage)
      words.row("recordings that drove requests",
                grouped(r.coverage->used) + " of " + grouped(r.coverage->recordings));
  }
  if (r.placing.any()) {
    std::string text = grouped(r.placing.copies) + " ranges copied to grow (" +
                       bytes_of(r.placing.copied_bytes) + "), " + grouped(r.placing.compactions) +
                       " passes that moved ranges together (" + bytes_of(r.placing.compaction_bytes) + ")";
    if (r.placing.delay_fraction) text += ", " + percent(*r.placing.delay_fraction) + " of all time";
    words.row("placing", std::move(text));
  }
  if (r.ranks.ranks() > 1)
    words.row("ranks", grouped(r.ranks.tensor_ranks) + " tensor-parallel x " + grouped(r.ranks.stages) +
                           (r.ranks.stages == 1 ? " stage, " : " stages, ") + grouped(r.ranks.token_bytes) +
                           " bytes per token on each");
  return words.table();
}

/// The first `rows` rows; the last one says how many replicas are left out.
Table replicas_table(const RunSummary& r, std::size_t rows) {
  Table table{.title = "Replicas",
              .columns = {"requests", "completed", "preemptions", "mean batch", "largest"},
              .rows = {}};
  const std::size_t shown = r.replicas.size() <= rows ? r.replicas.size() : rows - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    const runs::ReplicaSummary& replica = r.replicas[i];
    table.rows.push_back(
        {.label = "replica " + std::to_string(i),
         .cells = {grouped(replica.requests), grouped(replica.completed), grouped(replica.preemptions),
                   rate_text(replica.mean_running), grouped(replica.max_running)}});
  }
  if (shown < r.replicas.size())
    table.rows.push_back(
        {.label = "and " + grouped(static_cast<std::int64_t>(r.replicas.size() - shown)) + " more",
         .cells = std::vector<std::string>(table.columns.size())});
  return table;
}

/// Values that describe something switched off or ordinary; readers do not need them.
bool is_plain(std::string_view value) {
  constexpr std::array<std::string_view, 7> kPlain{"none", "full", "native",     "stated",
                                                   "0",    "1",    "round-robin"};
  return std::find(kPlain.begin(), kPlain.end(), value) != kPlain.end();
}

/// A setting as the user gave it; for a component, its name and the parameters that were given with it.
std::string as_given(const runs::Scenario& scenario, std::size_t field) {
  const std::string& text = scenario.texts[field];
  if (runs::scenario_fields()[field].kind != runs::FieldKind::kComponent) return text;
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::string out = text.substr(0, colon);
  std::string_view rest = std::string_view(text).substr(colon);
  for (char before = ':'; !rest.empty();) {
    rest.remove_prefix(1);  // the colon, or a comma
    const std::string_view pair = rest.substr(0, end_of_pair(rest));
    rest.remove_prefix(pair.size());
    if (scenario.param_origin(field, pair.substr(0, pair.find('='))) != runs::Origin::kGiven) continue;
    (out += before).append(pair);
    before = ',';
  }
  return out;
}

}  // namespace

Table settings_table(const runs::Scenario& scenario) {
  Table table{.title = "Scenario", .columns = {"", "value"}, .rows = {}, .numbers = false};
  std::string defaults;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < scenario.texts.size(); ++i) {
    const std::string& text = scenario.texts[i];
    if (text.empty()) continue;
    const runs::Field& field = runs::scenario_fields()[i];
    if (scenario.origin(i) == runs::Origin::kGiven) {
      table.rows.push_back(
          {.label = std::string(field.path), .cells = {sources_text(scenario, i), as_given(scenario, i)}});
      continue;
    }
    ++left_out;
    const std::string name = text.substr(0, text.find(':'));
    const bool shown = field.path == "model" || field.path == "memory.pool_bytes" ||
                       (field.kind == runs::FieldKind::kComponent && !is_plain(name));
    const bool ignored = (field.path == "memory.replacement" && scenario.engine_traits().index_of_its_own) ||
                         (field.path == "deployment.pool_rule" && scenario.deployment.device == nullptr);
    if (shown && !ignored)
      defaults.append(defaults.empty() ? "" : ", ").append(field.path).append("=").append(name);
  }
  if (left_out > 0)
    table.rows.push_back(
        {.label = grouped(static_cast<std::int64_t>(left_out)) + " more", .cells = {"default", defaults}});
  return table;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string fitting_list(const std::string& title, const std::vector<std::string>& sentences,
                         std::size_t width, std::size_t lines) {
  std::string out = list_text(title, sentences, width);
  for (std::size_t count = sentences.size(); count > 1 && lines_of(out) > lines; --count) {
    out = list_text(title, {sentences.begin(), sentences.begin() + static_cast<std::ptrdiff_t>(count - 1)},
                    width);
    out += "  and " + grouped(static_cast<std::int64_t>(sentences.size() - count + 1)) + " more\n";
  }
  return out;
}

std::string overview_text(const RunSummary& r, std::size_t width) {
  std::string out = wrapped(title_of(r), width, "  ") + "\n";
  const auto part = [&](const std::string& text) { out += text.empty() ? "" : "\n" + text; };
  part(list_text("Verdict", verdict_of(r), width));
  if (r.arrived > 0) part(table_text(latency_table(r), width));
  part(list_text("What limits", limits_of(r), width));
  part(table_text(memory_table(r, true), width));
  part(table_text(work_table(r), width));
  if (const Table more = more_table(r); !more.rows.empty()) part(table_text(more, width));
  const std::string settings = table_text(settings_table(r.scenario), width);
  const std::string last = "--verbose prints every setting, state and assumption.\n";
  const std::size_t assumed =
      r.assumptions.empty()
          ? 0
          : std::min(kAssumedLines, 1 + lines_of(list_text("Assumed", r.assumptions, width)));
  // Lines that are needed in addition to the settings: one warning, the assumptions and the last line.
  const std::size_t least =
      lines_of(out) + lines_of(settings) + 1 + (r.warnings.empty() ? 0 : 4) + assumed + 2;
  const std::size_t left = std::max(kOverviewLines, least) - least;
  if (r.replicas.size() > 1 && left >= kReplicasHead + 2)
    part(table_text(replicas_table(r, std::min(kMostReplicas, left - kReplicasHead)), width));
  part(settings);
  const std::size_t taken = lines_of(out) + 1 + assumed + 2;
  part(fitting_list("Warnings", r.warnings, width, std::max(kOverviewLines, taken) - taken));
  const std::size_t used = lines_of(out) + 1 + 2;
  part(fitting_list("Assumed", r.assumptions, width, std::max(kOverviewLines, used) - used));
  part(last);
  return out;
}

}  // namespace kvplan::report
