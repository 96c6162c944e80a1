// Recorded attention as a replay reads it, independent of its source (a .kva file, the JSON of the golden cases, arrays
// in a test).
//
// Life cycle: a Recording is opened once and never changed, so any number of threads may share it. `open` gives a
// reader of one layer of one sequence, which belongs to one thread and moves forward: `seek` makes the rows of one
// token available for all heads, and is the only call that can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/rotary.h"
#include "simulator/base/result.h"

namespace kvplan::attention {

struct SequenceInfo {
  std::string name;
  std::int64_t tokens{0};         ///< recorded length: rows of tokens 0 .. tokens-1 (or fewer: first_row)
  std::int64_t prompt_tokens{0};  ///< prompt length stated by the recorder; 0 = not stated
  bool complete{true};            ///< false: the recording broke off; `tokens` is that of the longest layer
};

enum class RecordedForm : std::uint8_t {
  kDenseRows,   ///< every weight of every row
  kTopEntries,  ///< the largest weights; the rest of a row's mass is spread evenly over the other tokens
  kTensors,     ///< Q, K (and V) after position encoding: rows are computed from them
};

/// How one number was stored.
enum class Element : std::uint8_t { kF64, kF32, kF16, kBf16, kU8, kU32 };

/// What a recording may contain side by side; numbered as in .kva files.
enum class Part : std::uint8_t {
  kRows = 1,
  kQueries = 2,
  kKeys = 3,
  kValues = 4,
  kTopRows = 5,
  kValueNorms = 6,
  kLayerInputs = 7,
  kOutputWeights = 8,
  kTokenClasses = 9,
  kPositions = 10,
};
inline constexpr std::uint32_t kLastPart = 10;

/// The name of a part in texts ("top rows").
std::string_view part_name(Part part);

class PartSet {
 public:
  PartSet() = default;
  PartSet(std::initializer_list<Part> parts) {
    for (const Part part : parts) add(part);
  }
  void add(Part part) { bits_ |= 1U << static_cast<unsigned>(part); }
  void remove(Part part) { bits_ &= ~(1U << static_cast<unsigned>(part)); }
  [[nodiscard]] bool has(Part part) const { return (bits_ >> static_cast<unsigned>(part) & 1U) != 0; }
  [[nodiscard]] bool empty() const { return bits_ == 0; }
  bool operator==(const PartSet&) const = default;

 private:
  std::uint32_t bits_{0};
};

/// A part of a file, and how its numbers are stored.
struct StoredPart {
  Part part;
  Element element;
  bool operator==(const StoredPart&) const = default;
};

/// A recorded layer. Heads are numbered among the recorded ones, 0, 1, ...
struct LayerInfo {
  std::int32_t layer{0};        ///< its number in the model
  std::int32_t query_heads{1};  ///< number of recorded query heads
  std::int32_t kv_heads{1};     ///< number of recorded KV heads; divides query_heads
  std::int32_t group{1};        ///< query heads per KV head, unless a policy is given another number
  std::int32_t key_size{0};
  std::int32_t value_size{0};
  PartSet parts;
  double logit_scale{1.0};
  std::int64_t window{0};  ///< the query of token t sees tokens t - window + 1 .. t; 0 = all up to t
  double soft_cap{0};      ///< logits are c * tanh(logits / c); 0 = none
  std::vector<double>
      /// [query head of the model's layer] logit of the attention sink, which is not a token; empty = none
      sink_logits;
  std::vector<double>
      /// [query head of the model's layer] slope x (p_i - p_t) is added to a logit; empty = none
      bias_slopes;
  std::optional<Rotary> rotary;                 ///< rotary embedding of queries and keys
  std::int32_t model_query_heads{1};            ///< query heads of this layer in the model
  std::int32_t model_kv_heads{1};               ///< KV heads of this layer in the model
  std::vector<std::int32_t> recorded_kv_heads;  ///< their numbers in the model, ascending; empty = all

  [[nodiscard]] std::int32_t model_kv_head(std::int32_t recorded) const {
    return recorded_kv_heads.empty() ? recorded : recorded_kv_heads[static_cast<std::size_t>(recorded)];
  }
  [[nodiscard]] std::int32_t model_query_head(std::int32_t recorded) const {
    const std::int32_t of_head = query_heads / kv_heads;
    return model_kv_head(recorded / of_head) * of_head + recorded % of_head;
  }
  /// The first token that the query of token t sees.
  [[nodiscard]] std::int64_t first_seen(std::int64_t t) const {
    return window > 0 && t >= window ? t - window + 1 : 0;
  }
  /// True: there are rows to replay, recorded or computed.
  [[nodiscard]] bool has_rows() const {
    return parts.has(Part::kRows) || parts.has(Part::kTopRows) || parts.has(Part::kQueries);
  }
  /// True: there are keys (perhaps with queries) or values: see Recording::tensors.
  [[nodiscard]] bool has_tensors() const { return parts.has(Part::kKeys) || parts.has(Part::kValues); }
};

/// What a recording says about itself. Counts are at least 1 except where noted.
struct RecordingInfo {
  std::string model;
  std::int32_t layers{1};
  std::int32_t query_heads{1};
  std::int32_t kv_heads{1};  ///< divides query_heads
  std::int32_t key_size{0};  ///< elements of one head's key
  std::int32_t value_size{0};
  std::int32_t cache_element_bytes{0};  ///< bytes of one element in the model's cache
  bool sizes_assumed{false};            ///< the three sizes above were assumed, not recorded
  std::int32_t group{1};                ///< query heads per KV head, unless a policy is given another number
  RecordedForm form{RecordedForm::kDenseRows};
  Element element{Element::kF64};
  double logit_scale{1.0};  ///< kTensors: logits are logit_scale * (q . k)
  bool has_values{false};   ///< V of every recorded layer exists: output errors can be computed
  std::string positions;    ///< description of the position encoding
  std::string source;       ///< source of the recording: model, data, licence
  std::string recorded_by;  ///< program, version and settings
  std::vector<SequenceInfo> sequences;

  int version{1};                  ///< version of the file's format
  std::vector<StoredPart> stored;  ///< version 2
  /// The recorded layers, ascending; empty: all `layers`, each as the fields above say.
  std::vector<LayerInfo> recorded_layers;
  std::int32_t hidden_size{0};             ///< 0 = not stated
  std::optional<Rotary> rotary;            ///< rotary embedding of most layers
  std::vector<std::string> token_classes;  ///< name of class 0, 1, ...
  std::string recorder;                    ///< program that wrote it
  std::string recorder_version;
  std::string machine;
  std::string model_digest;
  std::string cut;  ///< one line if the file broke off: where, and how much is complete; else empty

  [[nodiscard]] bool has_layer(std::int32_t number) const;
  /// REQUIRES: has_layer(number).
  [[nodiscard]] LayerInfo layer(std::int32_t number) const;
  /// Numbers of the recorded layers, ascending.
  [[nodiscard]] std::vector<std::int32_t> layer_numbers() const;
};

/// "0 to 3, 7", from ascending numbers.
std::string ranges_text(const std::vector<std::int32_t>& numbers);

/// One causal row: weights of tokens 0 .. t for the query of t. Exactly one of f64 and f32 is set.
struct RowView {
  const double* f64{nullptr};
  const float* f32{nullptr};
  const double* logits{nullptr};  ///< set if rows are computed: exact softmax over any subset is possible
  double sink{0};                 ///< weight of the attention sink, which is not a token and never dropped
  double sink_logit{-std::numeric_limits<double>::infinity()};  ///< beside `logits`
};

/// Values of one KV head, token after token; data is null if none were recorded.
struct ValueView {
  const float* data{nullptr};
  std::int32_t size{0};
};

/// Keys of one KV head, channel after channel: channel c of token t is data[c * stride + t]. data is null if none
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
  /// The row of query head `head` at the current token; valid until the next `seek`.
  [[nodiscard]] virtual RowView row(std::int32_t head) const = 0;
  /// The same row for measuring output errors: computed if queries and keys exist beside recorded rows.
  [[nodiscard]] virtual RowView exact_row(std::int32_t head) const { return row(head); }
  /// Values that query head `head` reads, valid for the life of the reader.
  [[nodiscard]] virtual ValueView values(std::int32_t /*head*/) const { return {}; }
  /// Keys that query head `head` reads, after position encoding; valid like `values`.
  [[nodiscard]] virtual KeyView keys(std::int32_t /*head*/) const { return {}; }
  /// Other recorded tensors of the layer; `keys` are empty there, see above. Null if there are only rows.
  [[nodiscard]] virtual const LayerTensors* beside() const { return nullptr; }
};

class Recording {
 public:
  virtual ~Recording() = default;
  [[nodiscard]] virtual const RecordingInfo& info() const = 0;
  /// Opens a reader. Errors: the layer was not recorded or cannot be read. REQUIRES: 0 <= sequence < sequences, 0 <=
  /// layer < layers. May be called from several threads.
  [[nodiscard]] virtual Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                                std::int32_t layer) const = 0;
  /// The tensors of a layer, in memory. Errors: neither keys nor values exist; those of `open`.
  [[nodiscard]] virtual Result<LayerTensors> tensors(std::int32_t sequence, std::int32_t layer) const;
  /// Tokens of this layer of this sequence; 0 if it was not recorded. Less than the sequence's if the recording broke
  /// off.
  [[nodiscard]] virtual std::int64_t tokens(std::int32_t sequence, std::int32_t layer) const;
  /// Numbers of one part of one head (its number in the model), token after token, as they were stored. Errors: there
  /// are none; the part consists of rows.
  [[nodiscard]] virtual Result<std::vector<float>> numbers(std::int32_t sequence, std::int32_t layer,
                                                           Part part, std::int32_t head) const;
  /// The class of each token (RecordingInfo::token_classes); empty if there are no classes.
  [[nodiscard]] virtual Result<std::vector<std::uint8_t>> token_classes(std::int32_t sequence) const;
};

/// Errors (field "--sequence" or "--layer", with the recorded ones): no token of that layer of that sequence was
/// recorded.
Status check_recorded_layer(const Recording& recording, std::int32_t sequence, std::int32_t layer);

/// "lacks KV heads 0, 2"; empty if all heads of the layer were recorded.
std::string missing_heads(const LayerInfo& layer);

/// Number of tokens that all layers of the model have of this sequence.
std::int64_t tokens_of_all_layers(const Recording& recording, std::int32_t sequence);

}  // namespace kvplan::attention
