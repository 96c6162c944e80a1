#include "simulator/formats/eviction.h"

#include <string>

namespace kvplan::formats {

Result<std::unique_ptr<Eviction>> Eviction::make(const attention::Recording& recording,
                                                 const attention::PolicyChoice& policy, std::int64_t prompt,
                                                 std::int32_t sequence, std::int32_t layer,
                                                 const attention::StopAsked& stop_asked) {
  const attention::LayerInfo info = recording.info().layer(layer);
  KVPLAN_TRY(const std::int32_t group, attention::group_of(policy, info));
  const std::string name(policy.choice.name());
  if (group != info.query_heads / info.kv_heads)
    return bad_input("expected the recording's " + std::to_string(info.query_heads / info.kv_heads) +
                     " query heads per KV head, found " + std::to_string(group))
        .at_field(name + ":group");
  if (policy.kind->traits(policy.choice).keeps_everything())
    return bad_input(
               "keeps every token and reads a part: expected a policy that evicts tokens before the format "
               "stores them")
        .at_field(name);
  KVPLAN_TRY_DO(attention::check_tensors(policy, info, group));
  const attention::LayerPlace place = attention::place_of(recording.info(), layer, group, prompt);
  const std::int64_t tokens = recording.tokens(sequence, layer);
  KVPLAN_TRY_DO(attention::check_tables(policy, recording.info()));
  KVPLAN_TRY_DO(attention::check_recorded_for(policy, place, tokens));
  std::unique_ptr<Eviction> out(new Eviction(policy, place, stop_asked));
  KVPLAN_TRY_DO(out->replay_.foresee(recording, sequence, tokens));
  return out;
}

Status Eviction::step(attention::LayerRows& rows) {
  const std::int64_t t = replay_.tokens();
  const bool reads = replay_.needs_rows(t);
  if (reads) KVPLAN_TRY_DO(rows.seek(t));
  replay_.step(reads ? &rows : nullptr);
  if (replay_.traits().foresight && stop_asked_ && stop_asked_()) return interrupted_error();
  return Done{};
}

}  // namespace kvplan::formats
