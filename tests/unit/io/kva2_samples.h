// Files of version 2 with random parts, and a second reader of such files that walks their frames and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/io/kva_writer.h"

namespace kvplan::io {

/// Sequence, layer, part, head (numbers of the model).
using Stream = std::tuple<std::int32_t, std::int32_t, attention::Part, std::int32_t>;

struct FullSample {
  attention::RecordingInfo info;                 ///< with the sequences
  std::map<Stream, std::vector<float>> numbers;  ///< rounded to the element
  /// [t][i], rounded; for top-k rows, all weights
  std::map<Stream, std::vector<std::vector<double>>> rows;
  std::map<std::int32_t, std::vector<std::uint8_t>> classes;  ///< [sequence]
  std::map<std::int32_t, std::vector<std::uint32_t>> positions;
};

/// Random shapes and parts, up to 3 layers and `sequences` sequences of about `tokens` tokens.
FullSample full_sample(Random& random, int sequences, int tokens);
/// Every part of every layer, fixed shapes.
attention::RecordingInfo everything(int layers);
/// Fills a sample that has its `info`.
void fill_sample(FullSample& sample, Random& random);

/// The bytes of a file. Tokens are written `block` at a time, as by a recorder. `finish`: with index and trailer.
std::string kva2_of(const FullSample& sample, Codec codec, std::int64_t block, bool finish = true);

/// Contents of the frames up to `length` of a file, read without an index.
struct WalkedFile {
  std::map<Stream, std::map<std::int64_t, std::string>> chunks;     ///< [first token] raw bytes
  std::map<Stream, std::int64_t> ends;                              ///< position after the last chunk
  std::map<std::int32_t, std::pair<std::int64_t, bool>> sequences;  ///< [number] tokens, complete
  std::int64_t end{0};                                              ///< end of the last complete frame
};
WalkedFile walk_file(const std::string& bytes);

/// A file of raw frames: (letters, payload), then the index if it is not empty.
std::string framed(const std::vector<std::pair<FrameKind, std::string>>& frames);

}  // namespace kvplan::io
