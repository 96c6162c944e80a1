#include "simulator/readers/evaluation.h"

#include <algorithm>
#include <utility>

#include "simulator/base/ordered_work.h"
#include "simulator/readers/layer_run.h"

namespace kvplan::readers {
namespace {

using attention::RecordingInfo;

void note(std::vector<std::string>& notes, const std::string& sentence) {
  if (std::find(notes.begin(), notes.end(), sentence) == notes.end()) notes.push_back(sentence);
}

class Run {
 public:
  Run(const attention::Recording& recording, const Request& request, const Pause& pause)
      : recording_(recording), request_(request), pause_(pause) {}

  Result<Evaluation> all() {
    KVPLAN_TRY_DO(place());
    out_.lanes.resize(request_.lanes.size());
    using Found = std::vector<LayerFound>;
    KVPLAN_TRY_DO(work_in_order<Found>(
        request_.threads, pieces_.size(),
        [this](std::size_t i) { return run_layer(recording_, pieces_[i], request_.lanes, pause_); },
        [this](std::size_t i, Found&& found) { merge(pieces_[i], std::move(found)); }));
    for (LaneResult& lane : out_.lanes)
      std::sort(lane.heads.begin(), lane.heads.end(), [](const HeadResult& a, const HeadResult& b) {
        return std::pair(a.layer, a.head) < std::pair(b.layer, b.head);
      });
    return std::move(out_);
  }

 private:
  Status place() {
    const RecordingInfo& info = recording_.info();
    const auto count = static_cast<std::int32_t>(info.sequences.size());
    if (request_.sequence && *request_.sequence >= count)
      return bad_input("expected 0 to " + std::to_string(count - 1) + " for this recording, found " +
                       std::to_string(*request_.sequence))
          .at_field("--sequence");
    if (request_.layer && *request_.layer >= info.layers)
      return bad_input("expected 0 to " + std::to_string(info.layers - 1) + " for this recording, found " +
                       std::to_string(*request_.layer))
          .at_field("--layer");
    for (std::int32_t i = 0; i < count; ++i)
      if (!request_.sequence || *request_.sequence == i) KVPLAN_TRY_DO(place_sequence(i));
    if (pieces_.empty()) return bad_input("no selected layer has tokens after the prompt");
    return Done{};
  }

  Status place_sequence(std::int32_t number) {
    const attention::SequenceInfo& sequence = recording_.info().sequences[static_cast<std::size_t>(number)];
    std::int64_t prompt = request_.prompt > 0 ? request_.prompt : sequence.prompt_tokens;
    if (prompt == 0) {
      prompt = std::max<std::int64_t>(1, sequence.tokens / 2);
      note(out_.assumptions,
           "The recording does not say where the prompt ends. kvplan takes the first half of each sequence "
           "as the prompt (use --prefill to change this).");
    }
    if (prompt > sequence.tokens && sequence.complete)
      return bad_input("expected at most the " + std::to_string(sequence.tokens) + " tokens of sequence " +
                       std::to_string(number) + ", found " + std::to_string(prompt))
          .at_field("--prefill");
    std::int64_t longest = 0;
    for (const std::int32_t layer : recording_.info().layer_numbers()) {
      if (request_.layer && *request_.layer != layer) continue;
      const std::int64_t tokens = recording_.tokens(number, layer);
      if (tokens == 0 || tokens < prompt) {
        note(out_.assumptions,
             "In some sequences, layers were not recorded or their recording ends inside the prompt. They "
             "are left out.");
        continue;
      }
      pieces_.push_back(
          {.sequence = number, .layer = layer, .prompt = prompt, .keep_records = request_.keep_records});
      longest = std::max(longest, tokens);
    }
    if (longest == 0) return Done{};
    ++out_.sequences;
    out_.tokens += longest;
    out_.steps += longest - prompt;
    return Done{};
  }

  void merge(const LayerRequest& piece, std::vector<LayerFound>&& found) {
    for (std::size_t l = 0; l < found.size(); ++l) merge_lane(piece, found[l], out_.lanes[l]);
  }

  static void merge_lane(const LayerRequest& piece, LayerFound& found, LaneResult& to) {
    LayerResult& layer = layer_of(to, piece.layer);
    layer.dense = found.dense;
    layer.steps += static_cast<std::int64_t>(found.steps.size());
    for (std::size_t h = 0; h < found.heads.size(); ++h) {
      head_of(to, piece.layer, static_cast<std::int32_t>(h)).add(found.heads[h]);
      layer.tally.add(found.heads[h]);
      to.total.add(found.heads[h]);
    }
    auto first = std::find_if(to.steps.begin(), to.steps.end(),
                              [&](const StepResult& step) { return step.sequence == piece.sequence; });
    for (std::size_t i = 0; i < found.steps.size(); ++i) {
      const std::int64_t t = piece.prompt + static_cast<std::int64_t>(i);
      if (first == to.steps.end()) {
        to.steps.push_back({.sequence = piece.sequence, .t = t, .tally = found.steps[i]});
        first = to.steps.end();
      } else {
        (first++)->tally.add(found.steps[i]);
      }
    }
    to.records.insert(to.records.end(), found.records.begin(), found.records.end());
    to.kept_bytes += found.kept_bytes;
    to.kept_metadata_bytes += found.kept_metadata_bytes;
  }

  static LayerResult& layer_of(LaneResult& lane, std::int32_t number) {
    const auto at = std::lower_bound(lane.layers.begin(), lane.layers.end(), number,
                                     [](const LayerResult& a, std::int32_t b) { return a.layer < b; });
    if (at != lane.layers.end() && at->layer == number) return *at;
    return *lane.layers.insert(at, {.layer = number, .tally = {}});
  }

  static Tally& head_of(LaneResult& lane, std::int32_t layer, std::int32_t head) {
    for (HeadResult& each : lane.heads)
      if (each.layer == layer && each.head == head) return each.tally;
    lane.heads.push_back({.layer = layer, .head = head, .tally = {}});
    return lane.heads.back().tally;
  }

  const attention::Recording& recording_;
  const Request& request_;
  const Pause& pause_;
  std::vector<LayerRequest> pieces_;  ///< by sequence, then layer
  Evaluation out_;
};

}  // namespace

Result<Evaluation> evaluate(const attention::Recording& recording, const Request& request,
                            const Pause& pause) {
  return Run(recording, request, pause).all();
}

}  // namespace kvplan::readers
