// Writes attention recordings (.kva versions 1 and 2; byte level: ATTENTION_FORMAT.md).
//
// Life cycle: `make`, any number of parts in any order, `finish` once. In version 2 a sequence begins before its parts
// and ends after them, when its length is known; parts that were written can be read even without `finish`. Bytes go to
// the sink as they are made, so memory grows only with the index, not with the length of the recording.
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
  double rest{0};  ///< sum of the weights of all other positions
};

/// The owner of a part: a query head for rows, queries and output weights, a KV head for keys, values and their
/// norms; numbers as in the model. A part without head or sequence is at 0.
struct PartPlace {
  std::int32_t sequence{0};
  std::int32_t layer{0};
  std::int32_t head{0};
};

class KvaWriter {
 public:
  /// `info.version` decides what is used: in version 1 `info.form` and `info.element` say what the parts will be; in
  /// version 2 `info.stored` and `info.recorded_layers` do, and `info.sequences` is ignored. Errors: a combination
  /// that the version does not know, counts out of their limits, a sink that refuses. REQUIRES: codecs with planes
  /// only in version 2.
  static Result<std::unique_ptr<KvaWriter>> make(const attention::RecordingInfo& info, Codec codec,
                                                 ByteSink sink);
  KvaWriter(const KvaWriter&) = delete;
  KvaWriter& operator=(const KvaWriter&) = delete;
  ~KvaWriter();

  /// Writes rows first .. first + n - 1, one after the other (row t has t + 1 weights). REQUIRES: form kDenseRows, or
  /// that part in version 2; whole rows.
  Status dense_rows(PartPlace place, std::int64_t first, std::span<const double> weights);
  /// Writes rows from `first` on, in the form kTopEntries.
  Status top_rows(PartPlace place, std::int64_t first, std::span<const TopRow> rows);
  /// Writes tokens from 0 on, in the form kTensors: elements of token 0, of token 1, ...
  Status tensor(PartPlace place, TensorPart part, std::span<const float> elements);

  // Functions for version 2:

  /// Begins a sequence and returns its number; its parts follow.
  Result<std::int32_t> begin_sequence(const std::string& name, std::int64_t prompt_tokens);
  /// Ends a sequence of `tokens` tokens, after everything of it was written.
  Status end_sequence(std::int32_t number, std::int64_t tokens);
  /// Writes tokens from `first` on, of any part except rows, token classes and positions. Errors: a number that is not
  /// finite or does not fit the part's element. REQUIRES: the layer has this part; whole tokens.
  Status numbers(PartPlace place, attention::Part part, std::int64_t first, std::span<const float> elements);
  Status token_classes(std::int32_t sequence, std::int64_t first, std::span<const std::uint8_t> classes);
  Status positions(std::int32_t sequence, std::int64_t first, std::span<const std::uint32_t> positions);

  /// Writes index and trailer; the recording is complete.
  Status finish();

 private:
  struct State;
  Status write_numbers(PartPlace place, attention::Part part, std::int64_t first,
                       std::span<const float> elements);
  explicit KvaWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a whole recording of rows, version 1, with `element` as its number type. `top` > 0 keeps the `top` largest
/// weights of each row and the mass of the rest (equal weights: the newer position). REQUIRES: the form is not
/// kTensors; the recording was not read from version 2, since version 1 cannot hold all of it.
Status write_kva(const attention::Recording& recording, attention::Element element, std::int64_t top,
                 Codec codec, const ByteSink& sink);

}  // namespace kvplan::io
