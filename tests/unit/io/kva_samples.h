// Small .kva files in memory, of every form.
#pragma once

#include <string>
#include <vector>

#include "simulator/io/kva_writer.h"

namespace kvplan::io {

/// A sink that appends to `bytes`.
ByteSink into(std::string& bytes);

struct TensorSample {
  attention::RecordingInfo info;
  /// [head] of the only layer, rounded to the element type
  std::vector<std::vector<float>> queries, keys, values;
};
TensorSample tensor_sample(std::uint64_t seed, int tokens, attention::Element element);
std::string kva_of(const TensorSample& sample, Codec codec);

/// Rows of two layers and two heads, in the form of a recording.
std::string row_sample(std::uint64_t seed, int tokens, attention::Element element, std::int64_t top);

}  // namespace kvplan::io
