#include "simulator/base/random.h"

#include "simulator/base/check.h"

namespace kvplan {

Random::Random(std::uint64_t seed, std::string_view name) : state_(seed) {
  // FNV-1a over the name, then one mixing step, so that similar names and seeds give unrelated states.
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  state_ = seed ^ hash;
  state_ = next();
}

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
  KVPLAN_CHECK(bound > 0);
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  KVPLAN_CHECK(low <= high, low, high);
  const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t offset = width == UINT64_MAX ? next() : below(width + 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

}  // namespace kvplan
