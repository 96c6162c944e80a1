// Small .kva files in memory, of every form.
#pragma once

#include <string>
#include <vector>

#include "simulator/io/kva_writer.h"

namespace kvplan::io {

/// Collects what a writer writes.
ByteSink into(std::string& bytes);

struct TensorSample {
  attention::RecordingInfo info;
  std::vector<std::vector<float>> queries, keys, values;  ///< [head] of the one layer, rounded to the element
};
TensorSample tensor_sample(std::uint64_t seed, int tokens, attention::Element element);
std::string kva_of(const TensorSample& sample, Codec codec);

/// Rows of two layers and two heads, as they would be recorded.
std::string row_sample(std::uint64_t seed, int tokens, attention::Element element, std::int64_t top);

}  // namespace kvplan::io
