// Writes attention recordings (.kva version 1; byte level: ATTENTION_FORMAT.md).
//
// Life cycle: `make`, any number of parts in any order, `finish` once. Bytes go to the sink as they are made,
// so memory does not grow with the length of the recording, only with its index.
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

/// Where a part belongs: a query head for rows and queries, a KV head for keys and values.
struct PartPlace {
  std::int32_t sequence{0};
  std::int32_t layer{0};
  std::int32_t head{0};
};

class KvaWriter {
 public:
  /// `info.form` and `info.element` say what the parts will be. Errors: a combination that version 1 does not
  /// know, counts out of its limits, a sink that refuses.
  static Result<std::unique_ptr<KvaWriter>> make(const attention::RecordingInfo& info, Codec codec,
                                                 ByteSink sink);
  KvaWriter(const KvaWriter&) = delete;
  KvaWriter& operator=(const KvaWriter&) = delete;
  ~KvaWriter();

  /// Rows first .. first + n - 1 one after the other (row t has t + 1 weights). REQUIRES: form kDenseRows;
  /// the number of weights is that of whole rows.
  Status dense_rows(PartPlace place, std::int64_t first, std::span<const double> weights);
  /// Rows first .. of form kTopEntries.
  Status top_rows(PartPlace place, std::int64_t first, std::span<const TopRow> rows);
  /// Tokens 0 .. of form kTensors: elements of token 0, of token 1, ...
  Status tensor(PartPlace place, TensorPart part, std::span<const float> elements);
  /// Index and trailer; the recording is complete.
  Status finish();

 private:
  struct State;
  explicit KvaWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Checks the limits of version 1 on what a file says about itself; the error's field names the number.
Status check_kva_limits(const attention::RecordingInfo& info);

/// Writes a whole recording of rows, with `element` as its number format. `top` > 0 keeps the `top` largest
/// weights of each row and the mass of the rest (equal weights: the newer position). REQUIRES: not kTensors.
Status write_kva(const attention::Recording& recording, attention::Element element, std::int64_t top,
                 Codec codec, const ByteSink& sink);

}  // namespace kvplan::io
