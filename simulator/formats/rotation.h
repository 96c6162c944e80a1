// Rotates the keys of a layer by their positions, for every token of a sequence, and undoes the rotation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/attention/tensor_rows.h"

namespace kvplan::formats {

class Rotation {
 public:
  /// If the tensors have no rotation, keys are left unchanged.
  explicit Rotation(const attention::LayerTensors& tensors);

  /// Rotates a key of token t as position encoding does (first function), and undoes it (second).
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
