// Runs sparse attention methods (readers) on the queries, keys and values of a recording: the tokens that each query
// reads, their share of the attention, the error of the output, and the bytes.
//
// Every layer of every sequence counts, and in it each query head at each decode step counts the same. All readers
// run in one pass over a layer's rows. Threads take layers of sequences; their results are added in the order of
// sequences and layers, so any number of threads gives the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/readers/catalogue.h"
#include "simulator/readers/tally.h"

namespace kvplan::readers {

/// A reader as the user asked for it.
struct Lane {
  ReaderChoice reader;
  std::optional<std::int64_t> budget{};  ///< a budget given beside the text
};

struct Request {
  std::vector<Lane> lanes;
  std::int64_t prompt{0};  ///< tokens; 0: the prompt length that each sequence states, else its first half
  std::optional<std::int32_t> sequence{};
  std::optional<std::int32_t> layer{};
  int threads{1};
  bool keep_records{false};  ///< fill Result::records
};

/// The tokens that one KV head reads at one step.
struct Record {
  std::int32_t sequence{0};
  std::int32_t layer{0};
  std::int32_t head{0};  ///< index of the KV head among the recorded ones
  std::int64_t t{0};
  Tally tally;
};

struct HeadResult {
  std::int32_t layer{0};
  std::int32_t head{0};
  Tally tally;
};

struct LayerResult {
  std::int32_t layer{0};
  bool dense{false};  ///< true: it reads everything, like the first layers of a reader
  std::int64_t steps{0};
  Tally tally;
};

struct StepResult {
  std::int32_t sequence{0};
  std::int64_t t{0};
  Tally tally;  ///< sums over all layers
};

/// The results of one reader.
struct LaneResult {
  Tally total;
  std::vector<LayerResult> layers;  ///< by layer
  std::vector<HeadResult> heads;    ///< by layer, then by head
  std::vector<StepResult> steps;    ///< by sequence, then by t
  std::vector<Record> records;      ///< by sequence, layer, t, head (Request::keep_records)
  /// Bytes stored after the last token of each sequence, summed over sequences and layers.
  std::int64_t kept_bytes{0};
  std::int64_t kept_metadata_bytes{0};
};

struct Evaluation {
  std::vector<LaneResult> lanes;  ///< in the order of the request
  std::int64_t sequences{0};
  std::int64_t tokens{0};                ///< tokens of these sequences
  std::int64_t steps{0};                 ///< decode steps of these sequences
  std::vector<std::string> assumptions;  ///< whole sentences, each once
};

/// Called between steps, by any of the threads; an error ends the run.
using Pause = std::function<Status()>;

/// Layers that were not recorded, or broke off inside the prompt, are left out; an assumption says so. Errors: a
/// missing sequence or layer, a prompt longer than a sequence, a layer without queries and keys, a reader that the
/// layer cannot drive.
Result<Evaluation> evaluate(const attention::Recording& recording, const Request& request,
                            const Pause& pause);

}  // namespace kvplan::readers
