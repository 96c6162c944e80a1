#include "simulator/measured/measured_file.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "simulator/base/component.h"
#include "simulator/base/utf8.h"
#include "simulator/modelfile/json_keys.h"
#include "simulator/results/figures.h"
#include "simulator/startup/startup_log.h"

namespace kvplan::measured {
namespace {

namespace dom = simdjson::dom;

bool is_figure(std::string_view name) {
  const auto all = runs::figures();
  return std::any_of(all.begin(), all.end(), [&](const runs::Figure& figure) { return figure.name == name; });
}

/// Collects the figures of one file.
class Figures {
 public:
  explicit Figures(const std::string& path) : path_(path) {}

  Status add(const std::string& key, double value, std::int64_t line) {
    const std::optional<NamedFigure> named = figure_of_key(key);
    if (!named) return Done{};
    if (!std::isfinite(value) || value < 0)
      return bad_input("expected a number of at least 0").at_file(path_).at_line(line).at_field(key);
    for (const Measured& known : found_)
      if (known.name == named->name)
        return bad_input("the file has " + named->name + " twice").at_file(path_).at_line(line).at_field(key);
    found_.push_back({named->name, value / named->divisor});
    return Done{};
  }
  Result<std::vector<Measured>> take() && {
    if (found_.empty())
      return bad_input(
                 "expected results such as mean_ttft_ms, mean_tpot_ms or request_throughput, found none")
          .at_file(path_);
    return std::move(found_);
  }

 private:
  const std::string& path_;
  std::vector<Measured> found_;
};

Result<std::vector<Measured>> read_json(std::string_view text, const std::string& path) {
  dom::parser parser;
  const simdjson::padded_string padded(with_plain_numbers(text));
  dom::document_stream documents;
  if (parser.parse_many(padded, std::max<std::size_t>(padded.size(), simdjson::dom::MINIMAL_BATCH_SIZE))
          .get(documents) != simdjson::SUCCESS)
    return bad_input("expected JSON").at_file(path);
  Figures figures(path);
  std::int64_t count = 0;
  for (auto document : documents) {
    dom::object object;
    if (document.get(object) != simdjson::SUCCESS)
      return bad_input("expected a JSON object: the result of one run").at_file(path);
    if (++count > 1)
      return bad_input("expected the result of one run, found several; keep one of the lines").at_file(path);
    for (const auto& [key, value] : object) {
      double number = 0;
      if (!figure_of_key(key)) continue;
      if (value.get(number) != simdjson::SUCCESS || number >= 1e300)  // Infinity and NaN (json_keys.h)
        return bad_input("expected a finite number").at_file(path).at_field(key);
      KVPLAN_TRY_DO(figures.add(std::string(key), number, 0));
    }
  }
  if (documents.truncated_bytes() > 0) return bad_input("the JSON text is incomplete").at_file(path);
  return std::move(figures).take();
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

Result<std::vector<Measured>> read_csv(std::string_view text, const std::string& path) {
  std::vector<std::pair<std::int64_t, std::vector<std::string>>> lines;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.emplace_back(number, cells_of(line));
  }
  if (lines.size() != 2)
    return bad_input("expected a heading and one row, found " + std::to_string(lines.size() - 1) +
                     " rows; keep that of the run")
        .at_file(path);
  const auto& names = lines[0].second;
  const auto& [row, cells] = lines[1];
  if (cells.size() != names.size())
    return bad_input("expected " + std::to_string(names.size()) + " cells, found " +
                     std::to_string(cells.size()))
        .at_file(path)
        .at_line(row);
  Figures figures(path);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!figure_of_key(names[i]) || cells[i].empty()) continue;
    const std::optional<double> value = parse_decimal(cells[i]);
    if (!value)
      return bad_input("expected a number, found \"" + cells[i] + "\"")
          .at_file(path)
          .at_line(row)
          .at_field(names[i]);
    KVPLAN_TRY_DO(figures.add(names[i], *value, row));
  }
  return std::move(figures).take();
}

/// True: some name of the heading has a figure.
bool is_heading(std::string_view line) {
  const std::vector<std::string> names = cells_of(line);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return figure_of_key(name).has_value(); });
}

Result<std::vector<Measured>> read_log(std::string_view text, const std::string& path) {
  startup::StartupReader reader;
  reader.feed(text);
  const auto log = std::move(reader).finish(path);
  if (!log.ok())
    return bad_input(
               "expected the result of vllm bench serve or sglang.bench_serving as JSON, a CSV row with "
               "names such as ttft_ms, or the start-up log of a server")
        .at_file(path);
  if (!log.value().pool_tokens)
    return bad_input("the log does not say how many tokens the KV cache has").at_file(path);
  return std::vector<Measured>{
      {std::string(kPoolTokens), static_cast<double>(log.value().pool_tokens->value)}};
}

/// "mean", "median" and "p99" as reports have them; empty for another word.
std::string statistic_of(std::string_view word) {
  if (word == "median") return "p50";
  for (const char* known : {"mean", "p50", "p90", "p95", "p99"})
    if (word == known) return known;
  return {};
}

std::string latency_of(std::string_view word) {
  if (word == "ttft" || word == "tpot") return std::string(word);
  return word == "e2el" || word == "e2e_latency" || word == "e2e" ? "e2e" : "";
}

}  // namespace

std::optional<NamedFigure> figure_of_key(std::string_view key) {
  if (is_figure(key)) return NamedFigure{std::string(key)};
  static constexpr std::array<std::pair<std::string_view, const char*>, 6> kTotals{{
      {"duration", "makespan_s"},
      {"request_throughput", "throughput.requests_per_s"},
      {"output_throughput", "throughput.output_tokens_per_s"},
      {"completed", "requests.completed"},
      {"total_input_tokens", "tokens.input"},
      {"total_output_tokens", "tokens.output"},
  }};
  for (const auto& [total, figure] : kTotals)
    if (key == total) return NamedFigure{figure};
  double divisor = 1;
  if (key.starts_with("silicon_")) key.remove_prefix(8);
  if (key.ends_with("_ms")) {
    key.remove_suffix(3);
    divisor = 1000;
  } else if (key.ends_with("_s")) {
    key.remove_suffix(2);
  } else {
    return std::nullopt;
  }
  const std::size_t bar = key.find('_');
  std::string statistic = statistic_of(key.substr(0, bar));
  const std::string latency = latency_of(statistic.empty() ? key : key.substr(bar + 1));
  if (latency.empty()) return std::nullopt;
  if (statistic.empty()) statistic = "mean";
  return NamedFigure{"latency_s." + latency + "." + statistic, divisor};
}

Result<std::vector<Measured>> read_measured(std::string_view bytes, const std::string& path) {
  const std::string_view text = without_byte_order_mark(bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return bad_input("the file is empty").at_file(path);
  if (text[first] == '{' || text[first] == '[') return read_json(text, path);
  if (is_heading(text.substr(0, text.find('\n')))) return read_csv(text, path);
  return read_log(text, path);
}

}  // namespace kvplan::measured
