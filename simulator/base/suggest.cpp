#include "simulator/base/suggest.h"

#include <algorithm>
#include <vector>

#include "simulator/base/number_input.h"

namespace kvplan {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: two rows of the classic table are kept, the older one for swaps of neighbours.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

constexpr std::size_t kLongestWord = 64;  // longer words are near no name

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Makes one line: the word may come from a hostile file.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(word, name);
    if (distance * 3 > std::max(word.size(), name.size())) continue;
    if (best.empty() || distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view word,
                         std::span<const std::string_view> known) {
  std::string out = "unknown ";
  out.append(kind).append(" ").append(found_text(word));
  out = one_line(std::move(out));
  const std::string_view near = nearest_name(word, known);
  if (!near.empty()) out.append("; did you mean \"").append(near).append("\"?");
  out += " (known: ";
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i > 0) out += ", ";
    out += known[i];
  }
  out += ')';
  return out;
}

std::vector<std::string_view> near_names(std::string_view word, std::span<const std::string_view> known,
                                         std::size_t most) {
  std::vector<std::string_view> out;
  if (word.empty() || word.size() > kLongestWord) return out;
  const std::string wanted = lower_case(word);
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string_view name : known) {
    const std::string lower = lower_case(name);
    const std::size_t longer = std::max(wanted.size(), lower.size());
    const std::size_t distance = edit_distance(wanted, lower);
    if (distance * 3 <= longer)
      ranked.emplace_back(distance, name);
    else if (lower.find(wanted) != std::string::npos || (lower.size() > 2 && wanted.starts_with(lower)))
      ranked.emplace_back(longer + distance, name);  // after all likely typing errors
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [rank, name] : ranked)
    if (out.size() < most && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  return out;
}

std::string unknown_name_of_many(std::string_view kind, std::string_view word,
                                 std::span<const std::string_view> known, std::string_view where_all_are) {
  constexpr std::size_t kMost = 5;
  std::string out = one_line("unknown " + std::string(kind) + " " + found_text(word));
  const std::vector<std::string_view> near = near_names(word, known, kMost);
  for (std::size_t i = 0; i < near.size(); ++i)
    out.append(i == 0 ? "; did you mean \"" : i + 1 == near.size() ? "\" or \"" : "\", \"").append(near[i]);
  if (!near.empty()) out += "\"?";
  return out.append(near.empty() ? "; " : " ").append(where_all_are);
}

}  // namespace kvplan
