#include "simulator/sweep/shard.h"

#include "simulator/base/number_input.h"

namespace kvplan::sweep {

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
