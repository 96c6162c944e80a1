#include "simulator/readers/layer_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "simulator/attention/kernels.h"
#include "simulator/attention/output_error.h"
#include "simulator/attention/selection.h"
#include "simulator/readers/estimated_output.h"

namespace kvplan::readers {
namespace {

using attention::LayerTensors;
using attention::RowView;

Status check_layer(const ReaderInput& input, const ReaderKind& kind) {
  const std::string name(input.choice.name());
  if (kind.ranks_products && !input.tensors.bias_slopes.empty())
    return bad_input("ranks tokens by query-key products, but layer " + std::to_string(input.layer.layer) +
                     " adds a position bias to them")
        .at_field(name);
  return kind.check == nullptr ? Status(Done{}) : kind.check(input);
}

bool is_dense(const Lane& lane, std::int32_t layer) {
  return lane.reader.kind->dense_layers && layer < lane.reader.choice.integer("dense_layers");
}

/// Positions that are in any of the sets, ascending.
ReadSet union_of(std::span<const ReadSet> sets) {
  ReadSet out;
  for (const ReadSet& set : sets) out.insert(out.end(), set.begin(), set.end());
  if (sets.size() == 1) return out;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::size_t common(const ReadSet& a, const ReadSet& b) {
  std::size_t count = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) ++count;
    if (*i < *j) {
      ++i;
    } else if (*j < *i) {
      ++j;
    } else {
      ++i;
      ++j;
    }
  }
  return count;
}

class LayerRun {
 public:
  LayerRun(const LayerTensors& tensors, const LayerRequest& request, std::int64_t element_bytes)
      : in_(tensors),
        request_(request),
        cell_bytes_((tensors.key_size + tensors.value_size) * element_bytes),
        rows_(attention::rows_from_tensors(tensors)),
        sets_(static_cast<std::size_t>(tensors.query_heads)) {}

  void add_lane(std::unique_ptr<LayerReader> reader, bool dense) {
    readers_.push_back(std::move(reader));
    LayerFound found;
    found.dense = dense;
    found.heads.resize(static_cast<std::size_t>(in_.kv_heads));
    found.steps.resize(static_cast<std::size_t>(in_.tokens - request_.prompt));
    found_.push_back(std::move(found));
  }

  Result<std::vector<LayerFound>> all(const Pause& pause) {
    for (std::int64_t t = request_.prompt; t < in_.tokens; ++t) {
      KVPLAN_TRY_DO(pause());
      KVPLAN_TRY_DO(rows_->seek(t));
      if (!in_.values.empty()) {
        outputs_.clear();
        for (std::int32_t h = 0; h < in_.query_heads; ++h)
          outputs_.push_back(attention::attention_output(rows_->row(h), t + 1, rows_->values(h)));
      }
      for (std::size_t l = 0; l < readers_.size(); ++l) step(t, *readers_[l], found_[l]);
    }
    for (std::size_t l = 0; l < readers_.size(); ++l) {
      found_[l].kept_bytes = in_.tokens * in_.kv_heads * cell_bytes_;
      for (std::int32_t h = 0; h < in_.kv_heads; ++h)
        found_[l].kept_metadata_bytes += readers_[l]->kept_metadata_bytes(h);
    }
    return std::move(found_);
  }

 private:
  void step(std::int64_t t, LayerReader& reader, LayerFound& found) {
    reader.append(t);
    for (ReadSet& set : sets_) set.clear();
    reader.read(t, *rows_, sets_);
    const auto group = static_cast<std::size_t>(group_of(in_));
    for (std::int32_t head = 0; head < in_.kv_heads; ++head) {
      const std::size_t first = static_cast<std::size_t>(head) * group;
      Tally tally;
      for (std::size_t q = first; q < first + group; ++q) {
        const ReadSet& set = sets_[q];
        KVPLAN_CHECK(!set.empty() && set.front() >= in_.first_seen(t) && set.back() <= t, t);
        measure(t, static_cast<std::int32_t>(q), set, reader.estimates(static_cast<std::int32_t>(q)), tally);
        tally.read_apart.add(bytes_of(set, head, reader));
      }
      const ReadSet together = union_of(std::span(sets_).subspan(first, group));
      tally.head_steps = 1;
      tally.head_tokens = static_cast<std::int64_t>(together.size());
      tally.read = bytes_of(together, head, reader);
      tally.full_bytes = (t + 1 - in_.first_seen(t)) * cell_bytes_;
      found.heads[static_cast<std::size_t>(head)].add(tally);
      found.steps[static_cast<std::size_t>(t - request_.prompt)].add(tally);
      if (request_.keep_records)
        found.records.push_back(
            {.sequence = request_.sequence, .layer = request_.layer, .head = head, .t = t, .tally = tally});
    }
  }

  [[nodiscard]] ReadBytes bytes_of(const ReadSet& set, std::int32_t head, const LayerReader& reader) const {
    ReadBytes out{.cells = static_cast<std::int64_t>(set.size()) * cell_bytes_,
                  .metadata = reader.read_metadata_bytes(head)};
    for (const std::int32_t position : set) out.metadata += reader.entry_bytes(position);
    return out;
  }

  /// Measures one query head.
  void measure(std::int64_t t, std::int32_t query_head, const ReadSet& set,
               std::span<const Estimate> estimates, Tally& to) {
    const RowView row = rows_->row(query_head);
    const std::int64_t first = in_.first_seen(t);
    best_.clear();
    attention::highest(std::span(row.f64 + first, static_cast<std::size_t>(t + 1 - first)),
                       static_cast<std::int32_t>(set.size()), best_);
    for (std::int32_t& position : best_) position += static_cast<std::int32_t>(first);
    weights_.resize(set.size());
    Tally one{.samples = 1, .read = {}, .read_apart = {}};
    one.oracle_mass = attention::gather(row.f64, best_, weights_);
    one.mass = one.mass_least = attention::gather(row.f64, set, weights_);
    one.overlap = static_cast<double>(common(set, best_)) / static_cast<double>(set.size());
    one.tokens = static_cast<std::int64_t>(set.size());
    if (!in_.values.empty()) {
      one.error_samples = 1;
      const std::span<const double> output = outputs_[static_cast<std::size_t>(query_head)];
      const attention::ValueView values = rows_->values(query_head);
      one.error = estimates.empty() ? attention::relative_output_error(output, row, set, values)
                                    : estimated_output_error(output, row, set, estimates, values);
      one.error_most = one.error;
    }
    to.add(one);
  }

  const LayerTensors& in_;
  const LayerRequest& request_;
  std::int64_t cell_bytes_;
  std::unique_ptr<attention::LayerRows> rows_;
  std::vector<std::unique_ptr<LayerReader>> readers_;  ///< [lane]
  std::vector<LayerFound> found_;                      ///< [lane]
  std::vector<ReadSet> sets_;                          ///< [query head]
  std::vector<std::vector<double>> outputs_;           ///< [query head] over all tokens; empty without values
  ReadSet best_;
  std::vector<double> weights_;
};

}  // namespace

Result<std::vector<LayerFound>> run_layer(const attention::Recording& recording, const LayerRequest& request,
                                          std::span<const Lane> lanes, const Pause& pause) {
  const attention::LayerInfo layer = recording.info().layer(request.layer);
  if (!layer.parts.has(attention::Part::kQueries) || !layer.parts.has(attention::Part::kKeys))
    return bad_input("layer " + std::to_string(request.layer) +
                     " holds no queries and keys, which sparse attention needs to select tokens");
  KVPLAN_TRY(const LayerTensors tensors, recording.tensors(request.sequence, request.layer));
  const std::int64_t element_bytes = recording.info().cache_element_bytes;
  LayerRun run(tensors, request, element_bytes);
  for (const Lane& lane : lanes) {
    const ReaderInput input{.choice = lane.reader.choice,
                            .tensors = tensors,
                            .layer = layer,
                            .prompt = request.prompt,
                            .element_bytes = element_bytes,
                            .tables = lane.reader.tables};
    const bool dense = is_dense(lane, request.layer);
    if (!dense) KVPLAN_TRY_DO(check_layer(input, *lane.reader.kind));
    run.add_lane((dense ? kFullReader : *lane.reader.kind).make(input), dense);
  }
  return run.all(pause);
}

}  // namespace kvplan::readers
