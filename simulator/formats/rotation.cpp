#include "simulator/formats/rotation.h"

#include "simulator/base/real.h"

namespace kvplan::formats {

Rotation::Rotation(const attention::LayerTensors& tensors) {
  if (!tensors.rotary) return;
  rotary_ = *tensors.rotary;
  std::vector<double> frequencies;
  for (std::int32_t pair = 0; pair < rotary_.dims / 2; ++pair) frequencies.push_back(rotary_.frequency(pair));
  pairs_.reserve(static_cast<std::size_t>(tensors.tokens) * frequencies.size());
  for (std::int64_t t = 0; t < tensors.tokens; ++t)
    for (const double frequency : frequencies) {
      const auto [sine, cosine] = sine_cosine(static_cast<double>(tensors.position(t)) * frequency);
      pairs_.push_back({sine, cosine});
    }
}

std::span<const Rotation::Pair> Rotation::pairs(std::int64_t token) const {
  const auto count = static_cast<std::size_t>(rotary_.dims / 2);
  return std::span(pairs_).subspan(static_cast<std::size_t>(token) * count, count);
}

void Rotation::turn(std::int64_t token, std::span<double> key) const {
  std::int32_t number = 0;
  for (const Pair& pair : pairs(token)) {
    double& low = key[static_cast<std::size_t>(rotary_.low(number))];
    double& high = key[static_cast<std::size_t>(rotary_.high(number))];
    const double was = low;
    low = (was * pair.cosine - high * pair.sine) * rotary_.amplitude;
    high = (high * pair.cosine + was * pair.sine) * rotary_.amplitude;
    ++number;
  }
}

void Rotation::turn_back(std::int64_t token, std::span<double> key) const {
  std::int32_t number = 0;
  for (const Pair& pair : pairs(token)) {
    double& low = key[static_cast<std::size_t>(rotary_.low(number))];
    double& high = key[static_cast<std::size_t>(rotary_.high(number))];
    const double was = low;
    low = (was * pair.cosine + high * pair.sine) / rotary_.amplitude;
    high = (high * pair.cosine - was * pair.sine) / rotary_.amplitude;
    ++number;
  }
}

}  // namespace kvplan::formats
