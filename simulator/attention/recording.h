// Recorded attention, as a replay reads it: where it came from does not matter here (a .kva file, the JSON of
// the golden cases, arrays in a test).
//
// Life cycle: a Recording is opened once and may be shared by any number of threads, since it is never
// changed. `open` gives a reader of one layer of one sequence, which belongs to one thread and moves forward:
// `seek` makes the rows of one token available for all heads, and is the only call that can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::attention {

struct SequenceInfo {
  std::string name;
  std::int64_t tokens{0};         ///< recorded length: rows of tokens 0 .. tokens-1 (or fewer: first_row)
  std::int64_t prompt_tokens{0};  ///< how the recorder split it; 0 = not stated
};

enum class RecordedForm : std::uint8_t {
  kDenseRows,   ///< every weight of every row
  kTopEntries,  ///< the largest weights; the rest of a row's mass is spread evenly over the other tokens
  kTensors,     ///< Q, K (and V) after position encoding: rows are computed
};

/// How one number was stored.
enum class Element : std::uint8_t { kF64, kF32, kF16, kBf16 };

/// What a recording says about itself. Counts are at least 1 except where noted.
struct RecordingInfo {
  std::string model;
  std::int32_t layers{1};
  std::int32_t query_heads{1};
  std::int32_t kv_heads{1};  ///< divides query_heads
  std::int32_t key_size{0};  ///< elements of one key of one head
  std::int32_t value_size{0};
  std::int32_t cache_element_bytes{0};  ///< of one element in the model's cache
  bool sizes_assumed{false};            ///< the three sizes above were not recorded but assumed
  std::int32_t group{1};                ///< query heads per stored head, unless a policy is told otherwise
  RecordedForm form{RecordedForm::kDenseRows};
  Element element{Element::kF64};
  double logit_scale{1.0};  ///< kTensors: logits are logit_scale * (q . k)
  bool has_values{false};   ///< kTensors with V: output errors can be computed
  std::string positions;    ///< how positions were encoded, in words
  std::string source;       ///< model, data, licence: where the recording is from
  std::string recorded_by;  ///< program, version and settings
  std::vector<SequenceInfo> sequences;
};

/// One causal row: weights of tokens 0 .. t for the query of t. Exactly one of f64 and f32 is set.
struct RowView {
  const double* f64{nullptr};
  const float* f32{nullptr};
  const double* logits{nullptr};  ///< set where rows are computed: exact softmax over any subset is possible
};

/// Values of one KV head, token after token; data is null where none were recorded.
struct ValueView {
  const float* data{nullptr};
  std::int32_t size{0};
};

/// Keys of one KV head, channel after channel: channel c of token t is data[c * stride + t]. data is null where none
/// were recorded.
struct KeyView {
  const float* data{nullptr};
  std::size_t stride{0};
  std::int32_t size{0};

  [[nodiscard]] double at(std::int32_t token, std::int32_t channel) const {
    return static_cast<double>(
        data[static_cast<std::size_t>(channel) * stride + static_cast<std::size_t>(token)]);
  }
};

struct LayerTensors;  // tensor_rows.h

/// A reader of one layer of one sequence.
class LayerRows {
 public:
  virtual ~LayerRows() = default;
  /// Makes the rows of token t available. REQUIRES: t >= the previous t; t < tokens.
  virtual Status seek(std::int64_t t) = 0;
  /// The row of query head `head` of the token last sought; valid until the next `seek`.
  [[nodiscard]] virtual RowView row(std::int32_t head) const = 0;
  /// Values that query head `head` reads, valid for the life of the reader.
  [[nodiscard]] virtual ValueView values(std::int32_t /*head*/) const { return {}; }
  /// Keys that query head `head` reads, after position encoding; valid as `values` are.
  [[nodiscard]] virtual KeyView keys(std::int32_t /*head*/) const { return {}; }
};

class Recording {
 public:
  virtual ~Recording() = default;
  [[nodiscard]] virtual const RecordingInfo& info() const = 0;
  /// REQUIRES: 0 <= sequence < sequences, 0 <= layer < layers. An error where that layer was not recorded or
  /// cannot be read. May be called from several threads.
  [[nodiscard]] virtual Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                                std::int32_t layer) const = 0;
  /// The tensors of a layer themselves, in memory. An error where rows were recorded, and those of `open`.
  [[nodiscard]] virtual Result<LayerTensors> tensors(std::int32_t sequence, std::int32_t layer) const;
};

}  // namespace kvplan::attention
