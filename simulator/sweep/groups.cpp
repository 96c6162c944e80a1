#include "simulator/sweep/groups.h"

#include <algorithm>

namespace kvplan::sweep {

Result<Groups> groups_of(const runs::Vary& vary, std::size_t most, std::size_t ranges) {
  Groups groups;
  groups.path = vary.path;
  if (vary.values.size() <= most) {
    for (const std::string& value : vary.values) {
      groups.of[value] = groups.labels.size();
      groups.labels.push_back(value);
    }
    return groups;
  }
  std::vector<std::pair<double, std::string>> numbers;
  for (const std::string& value : vary.values) {
    const auto number = parse_decimal(value);
    if (!number)
      return bad_input("expected numbers, or at most " + std::to_string(most) + " values; " + vary.path +
                       " has " + std::to_string(vary.values.size()) + " values that are not all numbers");
    numbers.emplace_back(*number, value);
  }
  std::sort(numbers.begin(), numbers.end());
  std::size_t begin = 0;
  for (std::size_t group = 0; group < ranges; ++group) {
    const std::size_t size = numbers.size() / ranges + (group < numbers.size() % ranges ? 1 : 0);
    for (std::size_t i = begin; i < begin + size; ++i) groups.of[numbers[i].second] = group;
    const std::string& last = numbers[begin + size - 1].second;
    groups.labels.push_back(size == 1 ? last : numbers[begin].second + ".." + last);
    begin += size;
  }
  return groups;
}

}  // namespace kvplan::sweep
