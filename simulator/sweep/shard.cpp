#include "simulator/sweep/shard.h"

#include "simulator/base/number_input.h"

namespace kvplan::sweep {

std::vector<std::int64_t> cases_of(const Shard& shard, std::int64_t cases) {
  std::vector<std::int64_t> out;
  for (std::int64_t number = shard.index - 1; number < cases; number += shard.count) out.push_back(number);
  return out;
}

Result<Shard> parse_shard(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = read_whole_number(text.substr(0, slash), {1, kMost});
    const auto count = read_whole_number(text.substr(slash + 1), {1, kMost});
    if (index && count && index.value() <= count.value()) return Shard{index.value(), count.value()};
  }
  return not_expected("K/N with K from 1 to N", text).at_field("--shard");
}

}  // namespace kvplan::sweep
