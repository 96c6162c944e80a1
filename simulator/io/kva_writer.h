// Writes attention recordings (.kva versions 1 and 2; byte level: ATTENTION_FORMAT.md).
//
// Life cycle: `make`, any number of parts in any order, `finish` once. Of version 2 a sequence is begun before its
// parts and ended behind them, when its length is known; what was written is readable without `finish`. Bytes go
// to the sink as they are made, so memory does not grow with the length of the recording, only with its index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/io/kva_frames.h"

namespace kvplan::io {

/// Takes the bytes of the file in order.
using ByteSink = std::function<Status(std::string_view)>;

enum class TensorPart : std::uint8_t { kQueries, kKeys, kValues };

/// The largest weights of one row.
struct TopRow {
  std::vector<std::int32_t> positions;  ///< ascending
  std::vector<double> weights;
  double rest{0};  ///< summed weight of all other positions
};

/// Where a part belongs: a query head for rows, queries and output weights, a KV head for keys, values and their norms;
/// numbers of the model. What is of no head or no sequence is at 0.
struct PartPlace {
  std::int32_t sequence{0};
  std::int32_t layer{0};
  std::int32_t head{0};
};

class KvaWriter {
 public:
  /// `info.version` decides. Of version 1 `info.form` and `info.element` say what the parts will be; of version 2
  /// `info.stored` and `info.recorded_layers` do, and `info.sequences` is not looked at. Errors: a combination that the
  /// version does not know, counts out of its limits, a sink that refuses. REQUIRES: planes of version 2 only.
  static Result<std::unique_ptr<KvaWriter>> make(const attention::RecordingInfo& info, Codec codec,
                                                 ByteSink sink);
  KvaWriter(const KvaWriter&) = delete;
  KvaWriter& operator=(const KvaWriter&) = delete;
  ~KvaWriter();

  /// Rows first .. first + n - 1 one after the other (row t has t + 1 weights). REQUIRES: form kDenseRows, or the part
  /// of version 2; the number of weights is that of whole rows.
  Status dense_rows(PartPlace place, std::int64_t first, std::span<const double> weights);
  /// Rows first .. of form kTopEntries.
  Status top_rows(PartPlace place, std::int64_t first, std::span<const TopRow> rows);
  /// Tokens 0 .. of form kTensors: elements of token 0, of token 1, ...
  Status tensor(PartPlace place, TensorPart part, std::span<const float> elements);

  // Version 2.

  /// The number of the next sequence; its parts come behind.
  Result<std::int32_t> begin_sequence(const std::string& name, std::int64_t prompt_tokens);
  /// Everything of the sequence was written: so many tokens.
  Status end_sequence(std::int32_t number, std::int64_t tokens);
  /// Tokens first .. of any part but rows, token classes and positions. An error where a number is not finite or does
  /// not fit the part's element. REQUIRES: the part is one of the layer's; whole tokens.
  Status numbers(PartPlace place, attention::Part part, std::int64_t first, std::span<const float> elements);
  Status token_classes(std::int32_t sequence, std::int64_t first, std::span<const std::uint8_t> classes);
  Status positions(std::int32_t sequence, std::int64_t first, std::span<const std::uint32_t> positions);

  /// Index and trailer; the recording is complete.
  Status finish();

 private:
  struct State;
  Status write_numbers(PartPlace place, attention::Part part, std::int64_t first,
                       std::span<const float> elements);
  explicit KvaWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a whole recording of rows, version 1, with `element` as its number format. `top` > 0 keeps the `top` largest
/// weights of each row and the mass of the rest (equal weights: the newer position). REQUIRES: not kTensors, not read
/// from version 2, of which version 1 cannot hold everything.
Status write_kva(const attention::Recording& recording, attention::Element element, std::int64_t top,
                 Codec codec, const ByteSink& sink);

}  // namespace kvplan::io
