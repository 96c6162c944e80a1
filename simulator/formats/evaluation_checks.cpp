#include "simulator/formats/evaluation_checks.h"

#include <cmath>
#include <string>

#include "simulator/formats/small_floats.h"

namespace kvplan::formats {

using attention::LayerTensors;

namespace {

std::string_view side_name(Side side) {
  return side == Side::kKeys ? "keys" : "values";
}

}  // namespace

const std::vector<float>& recorded(const LayerTensors& in, Side side, std::int32_t head) {
  return (side == Side::kKeys ? in.keys : in.values)[static_cast<std::size_t>(head)];
}

Status check_numbers(const LayerTensors& in) {
  for (const Side side : kSides) {
    const auto size = static_cast<std::size_t>(side == Side::kKeys ? in.key_size : in.value_size);
    for (std::int32_t h = 0; h < in.kv_heads; ++h) {
      const auto& tensor = recorded(in, side, h);
      for (std::size_t i = 0; i < tensor.size(); ++i)
        if (!(std::fabs(static_cast<double>(tensor[i])) <= kBinary16.largest))
          return bad_input(
                     "expected a number of absolute value at most 65504, the largest that 2 bytes can hold")
              .at_field(std::string(side_name(side)) + " of head " + std::to_string(h) + ", token " +
                        std::to_string(i / size) + ", channel " + std::to_string(i % size));
    }
  }
  return Done{};
}

Status check_place(const attention::Recording& recording, const EvaluationRequest& request) {
  const attention::RecordingInfo& info = recording.info();
  const auto below = [](std::string_view field, std::int64_t value, std::size_t limit) -> Status {
    if (value >= 0 && value < static_cast<std::int64_t>(limit)) return Done{};
    return bad_input("expected 0 to " + std::to_string(limit - 1) + ", found " + std::to_string(value))
        .at_field(field);
  };
  KVPLAN_TRY_DO(below("sequence", request.sequence, info.sequences.size()));
  KVPLAN_TRY_DO(below("layer", request.layer, static_cast<std::size_t>(info.layers)));
  KVPLAN_TRY_DO(attention::check_recorded_layer(recording, request.sequence, request.layer));
  const attention::LayerInfo layer = info.layer(request.layer);
  const std::int64_t tokens = recording.tokens(request.sequence, request.layer);
  if (request.prompt < 1 || request.prompt > tokens)
    return bad_input("expected 1 to the " + std::to_string(tokens) + " recorded tokens, found " +
                     std::to_string(request.prompt))
        .at_field("prefill");
  if (!layer.has_rows())
    return bad_input("recording holds no queries; formats need queries, keys and values");
  if (!layer.parts.has(attention::Part::kQueries))
    return bad_input("recording holds only attention rows; formats need queries, keys and values");
  if (!layer.parts.has(attention::Part::kValues))
    return bad_input("recording holds queries and keys without values; formats need values too");
  for (std::size_t i = 0; i < request.probes.size(); ++i) {
    const Probe& probe = request.probes[i];
    const std::int32_t size = probe.side == Side::kKeys ? layer.key_size : layer.value_size;
    const std::string field = "probe " + std::to_string(i + 1);
    KVPLAN_TRY_DO(below(field + ": head", probe.head, static_cast<std::size_t>(layer.kv_heads)));
    KVPLAN_TRY_DO(below(field + ": position", probe.position, static_cast<std::size_t>(tokens)));
    KVPLAN_TRY_DO(below(field + ": channel", probe.channel, static_cast<std::size_t>(size)));
  }
  return Done{};
}

Status check_format_of(const attention::Recording& recording, const EvaluationRequest& request) {
  const std::string name(request.format.choice.name());
  const auto refused = [&](const std::string& why) { return bad_input(why).at_field(name); };
  if (!request.format.kind->bytes_alone.empty() && side_file_of(request.format).empty())
    return refused("the errors of this format are unknown: " + std::string(request.format.kind->bytes_alone) +
                   "; `kvplan bytes` counts its bytes");
  if (request.format.side != nullptr) {
    const std::string& of_file = request.format.side->model_digest;
    const std::string& own = recording.info().model_digest;
    if (!of_file.empty() && !own.empty() && of_file != own)
      return refused("expected a side file for the recorded model, which has digest " + own + ", found " +
                     of_file)
          .at_file(request.format.side->file);
    if (recording.info().version < 2 && !recording.info().layer(request.layer).rotary)
      return refused(
          "stores keys as they are before position encoding, but the recording does not say how they were "
          "rotated");
  }
  for (const std::int64_t other : other_layers(request.format)) {
    const std::string both = "stores layer " + std::to_string(request.layer) + " jointly with layer " +
                             std::to_string(other) + ", ";
    if (other >= recording.info().layers || !recording.info().has_layer(static_cast<std::int32_t>(other)))
      return refused(both + "which was not recorded");
    const auto number = static_cast<std::int32_t>(other);
    const attention::LayerInfo own = recording.info().layer(request.layer);
    const attention::LayerInfo of = recording.info().layer(number);
    if (of.kv_heads != own.kv_heads || of.key_size != own.key_size || of.value_size != own.value_size ||
        of.recorded_kv_heads != own.recorded_kv_heads || of.window != own.window)
      return refused(both + "which has other recorded heads or another window");
    if (!of.parts.has(attention::Part::kKeys) || !of.parts.has(attention::Part::kValues) ||
        recording.tokens(request.sequence, number) < recording.tokens(request.sequence, request.layer))
      return refused(both + "which has fewer recorded keys and values");
    if (request.evict && !request.evict->kind->traits(request.evict->choice).interval)
      return refused(both + "of which \"" + std::string(request.evict->choice.name()) +
                     "\" may keep different tokens: expected a policy that selects by position only");
  }
  return Done{};
}

}  // namespace kvplan::formats
