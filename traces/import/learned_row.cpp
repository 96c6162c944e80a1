#include "traces/import/learned_row.h"

#include <algorithm>

namespace kvplan::traces {

void LearnedRow::put(std::string_view text, int name) {
  const std::size_t tail = text.empty() ? 0 : (text.size() - 1) % 8 + 1;  // bytes of the last word, 1 to 8
  const std::uint64_t mask = tail == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * tail)) - 1;
  texts_.push_back({mask, static_cast<std::int32_t>(text.size()), name});
  do {
    char word[8]{};
    std::copy_n(text.data(), std::min<std::size_t>(text.size(), 8), word);
    words_.push_back(eight_bytes(word));
    text.remove_prefix(std::min<std::size_t>(text.size(), 8));
  } while (!text.empty());
}

void LearnedRow::learn(std::string_view line, std::span<const Value> values) {
  texts_.clear();
  words_.clear();
  if (values.empty()) return;
  std::size_t from = 0;
  for (const Value& value : values) {
    put(line.substr(from, value.begin - from), value.name);
    from = value.end;
  }
  put(line.substr(from), 0);
}

}  // namespace kvplan::traces
