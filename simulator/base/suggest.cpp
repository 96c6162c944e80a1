#include "simulator/base/suggest.h"

#include <algorithm>
#include <vector>

#include "simulator/base/number_input.h"

namespace kvplan {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: rows of the classic table, the one before last kept for neighbour swaps.
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

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > 64) return {};
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
  // The word may come from a hostile file; the message is one line all the same.
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
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

}  // namespace kvplan
