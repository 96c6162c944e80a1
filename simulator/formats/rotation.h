// How the keys of a layer turn with their positions, at every token of a sequence, both ways.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/tensor_rows.h"

namespace kvplan::formats {

class Rotation {
 public:
  /// Of tensors without a rotation keys stay as they are.
  explicit Rotation(const attention::LayerTensors& tensors);

  /// A key of token t as position encoding leaves it, and as it was before.
  void turn(std::int64_t token, std::span<double> key) const;
  void turn_back(std::int64_t token, std::span<double> key) const;

 private:
  struct Pair {
    double sine, cosine;
  };
  [[nodiscard]] std::span<const Pair> pairs(std::int64_t token) const;

  attention::Rotary rotary_;
  std::vector<Pair> pairs_;  ///< [token][pair of elements]
};

}  // namespace kvplan::formats
