#include "traces/synth/client_pool.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/base/number_input.h"
#include "simulator/base/units.h"
#include "traces/import/csv_line.h"
#include "traces/import/json_elements.h"
#include "traces/synth/named_files.h"

namespace kvplan::traces {
namespace {

constexpr double kMostSeconds = 1e9;
constexpr double kLeastRate = 1e-6;
constexpr std::size_t kMostWindows = std::size_t{1} << 20;  // of a client
constexpr std::size_t kMostLengths = std::size_t{1} << 24;  // of the pool
constexpr std::int64_t kMostClients = std::int64_t{1} << 16;

/// The K in a name such as chunk-K-trace.csv; -1 if the name has none.
std::int32_t number_in(std::string_view name, std::string_view ending) {
  constexpr std::string_view kBegin = "chunk-";
  if (!name.starts_with(kBegin) || !name.ends_with(ending) || name.size() < kBegin.size() + ending.size())
    return -1;
  const std::string_view digits = name.substr(kBegin.size(), name.size() - kBegin.size() - ending.size());
  const auto number = read_whole_number(digits, {0, kMostClients - 1});
  return number.ok() ? static_cast<std::int32_t>(number.value()) : -1;
}
constexpr std::string_view kTraceEnding = "-trace.csv";
constexpr std::string_view kLengthsEnding = "-dataset.json";

std::unique_ptr<Input> input_of(std::string_view bytes, const std::string& path) {
  return std::make_unique<Input>(open_memory(bytes, path).value(), path);
}

/// Reads the rows of one client.
class WindowRows {
 public:
  WindowRows(std::string_view bytes, const std::string& path) : path_(path), input_(input_of(bytes, path)) {}

  Result<std::vector<PoolWindow>> read() {
    std::string_view line;
    while (input_->next_line(line)) {
      if (line.empty()) continue;
      KVPLAN_TRY_DO(add(line));
    }
    if (input_->failed()) return input_->error();
    if (windows_.size() < 2) return bad_input("expected at least two windows").at_file(path_);
    const std::size_t last = windows_.size() - 1;
    for (std::size_t i = 0; i < last; ++i) windows_[i].end_ns = windows_[i + 1].begin_ns;
    windows_[last].end_ns = windows_[last].begin_ns + (windows_[last].begin_ns - windows_[last - 1].begin_ns);
    return std::move(windows_);
  }

 private:
  Result<double> number(std::string_view field, std::string_view text, NumberRange range) {
    auto value = read_number(text, range);
    if (!value.ok())
      return std::move(value).error().at_file(path_).at_line(input_->line_number()).at_field(field);
    return value;
  }

  Status add(std::string_view line) {
    const std::vector<std::string> fields = split_csv(line, ',', 7);
    const auto wrong = [&](std::string_view field, std::string message) {
      return bad_input(std::move(message)).at_file(path_).at_line(input_->line_number()).at_field(field);
    };
    if (fields.size() != 6)
      return wrong({}, "expected 6 columns (start, rate, variation, law, shape, scale), found " +
                           std::string(fields.size() > 6 ? "more" : std::to_string(fields.size())));
    if (windows_.size() == kMostWindows) return wrong({}, "more than 1048576 windows");
    PoolWindow window;
    KVPLAN_TRY(const double start, number("start", fields[0], {0, kMostSeconds}));
    KVPLAN_TRY(window.rate_per_s, number("rate", fields[1], {0, 1e9}));
    window.begin_ns = std::llround(start * static_cast<double>(kNsPerSecond));
    if (!windows_.empty() && window.begin_ns < windows_.back().begin_ns + kNsPerSecond)
      return wrong("start", "expected windows of at least one second, in order of time");
    if (window.rate_per_s > 0) {
      if (window.rate_per_s < kLeastRate) return wrong("rate", "expected 0 or at least 0.000001");
      if (fields[3] != "Gamma" && fields[3] != "Weibull")
        return wrong("law", std::move(not_expected("Gamma or Weibull", fields[3])).message);
      window.weibull = fields[3] == "Weibull";
      KVPLAN_TRY(window.shape, number("shape", fields[4], {1e-4, 1e6}));
    }
    windows_.push_back(window);
    return Done{};
  }

  std::string path_;
  std::unique_ptr<Input> input_;
  std::vector<PoolWindow> windows_;
};

/// Parses {45: 0.5, 46: 0.5}, the form in which Python prints a dict. Errors have no position.
Result<LengthTable> parse_table(std::string_view text, std::size_t room) {
  const auto pass_spaces = [&] {
    while (text.starts_with(' ')) text.remove_prefix(1);
  };
  const auto up_to = [&](std::string_view ends) {
    pass_spaces();
    const std::size_t end = std::min(text.find_first_of(ends), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(end);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
  };
  const auto take = [&](char c) {
    pass_spaces();
    const bool found = text.starts_with(c);
    if (found) text.remove_prefix(1);
    return found;
  };
  const auto wrong = [&] { return not_expected("{TOKENS: PROBABILITY, ...}", text); };
  LengthTable table;
  std::vector<double> weights;
  double sum = 0;
  if (!take('{')) return wrong();
  for (bool more = !take('}'); more;) {
    KVPLAN_TRY(const std::int64_t tokens, read_whole_number(up_to(":"), {0, INT32_MAX}));
    if (!take(':')) return wrong();
    KVPLAN_TRY(const double weight, read_number(up_to(",}"), {0, 1e9}));
    if (table.tokens.size() == room) return bad_input("more than 16777216 lengths in the pool");
    table.tokens.push_back(static_cast<std::int32_t>(tokens));
    weights.push_back(weight);
    sum += weight;
    if (!take(',')) {
      if (!take('}')) return wrong();
      more = false;
    }
  }
  pass_spaces();
  if (!text.empty()) return not_expected("nothing after the Python dict", text);
  if (table.tokens.empty()) return table;
  if (sum <= 0) return bad_input("expected probabilities that are not all 0");
  table.weights = Weighted(weights);
  return table;
}

/// Reads a JSON string that contains one dict.
Result<LengthTable> read_table(JsonElements& json, std::size_t room) {
  std::string_view text;
  const char kind = json.kind();
  if (!json.value(text)) return json.error();
  if (kind != 's' || text.find('\\') != std::string_view::npos)
    return not_expected("a string with a Python dict", text);
  return parse_table(text.substr(1, text.size() - 2), room);
}

/// Sorts the windows by time; windows without lengths get those of the window before, also from the day before.
void fill_idle(std::vector<PoolLengths>& lengths) {
  std::sort(lengths.begin(), lengths.end(),
            [](const PoolLengths& a, const PoolLengths& b) { return a.begin_ns < b.begin_ns; });
  const auto idle = [](const PoolLengths& l) { return l.input.empty() || l.output.empty(); };
  const auto filled = std::find_if_not(lengths.rbegin(), lengths.rend(), idle);
  if (filled == lengths.rend()) return lengths.clear();
  PoolLengths before = *filled;
  for (PoolLengths& window : lengths) {
    if (idle(window)) {
      before.begin_ns = window.begin_ns;
      window = before;
    } else {
      before = window;
    }
  }
}

Result<std::vector<PoolLengths>> read_lengths(std::string_view bytes, const std::string& path,
                                              std::size_t& room) {
  const auto input = input_of(bytes, path);
  JsonElements json(*input);
  std::vector<PoolLengths> out;
  std::string key;
  std::string name;
  json.enter('{');
  while (json.next_key(key)) {
    const auto start = read_whole_number(key, {0, static_cast<std::int64_t>(kMostSeconds)});
    if (!start.ok())
      return bad_input("expected the start of a window in seconds, found " + found_text(key))
          .at_file(path)
          .at_byte(json.begin());
    PoolLengths window;
    window.begin_ns = start.value() * kNsPerSecond;
    json.enter('{');
    while (json.next_key(name)) {
      if (name != "input_tokens" && name != "output_tokens") {
        json.skip();
        continue;
      }
      auto table = read_table(json, room);
      if (json.failed()) return json.error();
      if (!table.ok())
        return std::move(table)
            .error()
            .at_file(path)
            .at_byte(json.begin())
            .at_field(key.append(".").append(name));
      room -= table.value().tokens.size();
      (name[0] == 'i' ? window.input : window.output) = std::move(table).value();
    }
    out.push_back(std::move(window));
  }
  json.expect_end();
  if (json.failed()) return json.error();
  fill_idle(out);
  return out;
}

struct Parts {
  PoolClient client;
  bool has_windows{false};
  bool has_lengths{false};
};

Result<ClientPool> pool_of(std::map<std::int32_t, Parts>& parts, const std::string& path) {
  ClientPool pool;
  for (auto& [number, part] : parts) {
    const std::string name = "chunk-" + std::to_string(number);
    if (!part.has_windows || !part.has_lengths)
      return bad_input("has no " + name + std::string(part.has_windows ? kLengthsEnding : kTraceEnding))
          .at_file(path);
    PoolClient& client = part.client;
    client.number = number;
    if (client.requests() > 0 && client.lengths.empty())
      return bad_input("the client has requests but no lengths").at_file(path).at_field(name);
    pool.day_ns = std::max(pool.day_ns, client.windows.back().end_ns);
    pool.clients.push_back(std::move(client));
  }
  if (pool.clients.empty())
    return bad_input("the pool holds no client: no chunk-K-trace.csv and chunk-K-dataset.json").at_file(path);
  return pool;
}

}  // namespace

double PoolWindow::requests() const {
  return rate_per_s * (static_cast<double>(end_ns - begin_ns) / static_cast<double>(kNsPerSecond));
}

double LengthTable::mean() const {
  double sum = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) sum += tokens[i] * weights.share(i);
  return sum;
}

const PoolLengths& PoolClient::lengths_at(std::int64_t ns) const {
  const auto after = std::upper_bound(lengths.begin(), lengths.end(), ns,
                                      [](std::int64_t at, const PoolLengths& l) { return at < l.begin_ns; });
  return after == lengths.begin() ? lengths.back() : *(after - 1);
}

double PoolClient::requests() const {
  double sum = 0;
  for (const PoolWindow& window : windows) sum += window.requests();
  return sum;
}

double ClientPool::requests() const {
  double sum = 0;
  for (const PoolClient& client : clients) sum += client.requests();
  return sum;
}

namespace {

/// `walk(wants, take)` goes through all files.
template <class Walk>
Result<ClientPool> read_pool(Walk walk, const std::string& path) {
  std::map<std::int32_t, Parts> parts;
  std::size_t room = kMostLengths;
  const auto wants = [](std::string_view name) {
    return number_in(name, kTraceEnding) >= 0 || number_in(name, kLengthsEnding) >= 0;
  };
  const auto take = [&](std::string_view name, const std::string& file, std::string_view bytes) -> Status {
    const std::int32_t windows_of = number_in(name, kTraceEnding);
    Parts& part = parts[std::max(windows_of, number_in(name, kLengthsEnding))];
    bool& has = windows_of >= 0 ? part.has_windows : part.has_lengths;
    if (has) return bad_input("the pool holds this client twice").at_file(file);
    has = true;
    if (windows_of >= 0) {
      KVPLAN_TRY(part.client.windows, WindowRows(bytes, file).read());
    } else {
      KVPLAN_TRY(part.client.lengths, read_lengths(bytes, file, room));
    }
    return Done{};
  };
  KVPLAN_TRY_DO(walk(wants, take));
  return pool_of(parts, path);
}

}  // namespace

Result<ClientPool> read_client_pool(const std::string& path, const ReadHook& on_read) {
  return read_pool([&](const auto& wants, const auto& take) { return each_file(path, wants, take, on_read); },
                   path);
}

Result<ClientPool> read_client_pool(Input& archive) {
  return read_pool([&](const auto& wants, const auto& take) { return each_file(archive, wants, take); },
                   archive.path());
}

}  // namespace kvplan::traces
