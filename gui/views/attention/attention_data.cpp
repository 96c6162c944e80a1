#include "gui/views/attention/attention_data.h"

#include <QCoreApplication>
#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/kva_frames.h"
#include "simulator/io/policy_files.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Attention {
  Q_DECLARE_TR_FUNCTIONS(Attention)
};

constexpr std::int64_t kMostTokens = 1 << 16;  // of a sequence; sets are kept for every step

float weight(const attention::RowView& row, std::int64_t t) {
  return row.f32 != nullptr ? row.f32[t] : static_cast<float>(row.f64[t]);
}

/// The set of residents that a query head reads.
std::int32_t set_of(const attention::LayerReplay& replay, const attention::LayerInfo& layer,
                    std::int32_t head) {
  if (replay.sets() == 1) return 0;
  return static_cast<std::int32_t>(std::int64_t{head} * replay.sets() / layer.query_heads);
}

Status read_rows(const attention::Recording& recording, AttentionRun& run, core::RunControl& control) {
  KVPLAN_TRY(const auto rows, recording.open(run.choice.sequence, run.choice.layer));
  run.tokens_in_cell = static_cast<int>((run.tokens + kMostCells - 1) / kMostCells);
  run.side = static_cast<int>((run.tokens + run.tokens_in_cell - 1) / run.tokens_in_cell);
  run.cells.assign(static_cast<std::size_t>(run.side) * static_cast<std::size_t>(run.side), 0);
  for (std::int64_t t = 0; t < run.tokens; ++t) {
    if (control.wants_stop()) return interrupted_error();
    KVPLAN_TRY_DO(rows->seek(t));
    const attention::RowView row = rows->row(run.choice.head);
    const std::size_t line =
        static_cast<std::size_t>(t / run.tokens_in_cell) * static_cast<std::size_t>(run.side);
    const bool shown = t + 1 >= run.choice.prompt;
    if (shown) run.rows.emplace_back();
    for (std::int64_t seen = 0; seen <= t; ++seen) {
      float& cell = run.cells[line + static_cast<std::size_t>(seen / run.tokens_in_cell)];
      const float value = weight(row, seen);
      cell = std::max(cell, value);
      if (shown) run.rows.back().push_back(value);
    }
  }
  return Done{};
}

}  // namespace

std::optional<Result<DocumentPtr>> read_recording(std::string_view head, const std::string& path) {
  if (!head.starts_with(io::kKvaMagic)) return std::nullopt;
  auto opened = io::open_attention(path);
  if (!opened.ok()) return Result<DocumentPtr>(opened.error());
  auto document = std::make_shared<RecordingDocument>();
  document->path = path;
  document->view = "attention";
  document->recording = std::move(opened).value();
  return Result<DocumentPtr>(DocumentPtr(std::move(document)));
}

std::vector<std::string> split_policies(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) out.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string usual_policies(std::int64_t tokens) {
  const std::int64_t budget = std::max<std::int64_t>(16, tokens / 4);
  const std::string half = std::to_string(budget / 2), whole = std::to_string(budget);
  return "streaming-llm:sink=4,recent=" + std::to_string(budget - 4) + "; h2o:hh=" + half +
         ",recent=" + half + "; tova:budget=" + whole + "; snapkv:capacity=" + whole + ",window=8";
}

Result<AttentionRunPtr> run_attention(const attention::Recording& recording, const AttentionChoice& choice,
                                      core::RunControl& control) {
  if (choice.policies.size() > kMostPolicies)
    return bad_input("at most " + std::to_string(kMostPolicies) + " policies are shown at once");
  KVPLAN_TRY_DO(attention::check_recorded_layer(recording, choice.sequence, choice.layer));
  auto run = std::make_shared<AttentionRun>();
  run->choice = choice;
  run->tokens = recording.tokens(choice.sequence, choice.layer);
  if (run->tokens > kMostTokens)
    return bad_input("expected at most " + std::to_string(kMostTokens) + " tokens, found " +
                     std::to_string(run->tokens));
  const attention::LayerInfo layer = recording.info().layer(choice.layer);
  KVPLAN_TRY_DO(read_rows(recording, *run, control));
  std::vector<attention::PolicyChoice> policies;
  for (const std::string& text : choice.policies) {
    KVPLAN_TRY(auto policy, attention::parse_policy(text));
    KVPLAN_TRY_DO(io::read_policy_files(policy));
    policies.push_back(std::move(policy));
    run->tracks.push_back({text, {}, {}, {}, {}});
  }
  if (policies.empty()) return AttentionRunPtr(std::move(run));
  const attention::LayerRun where{
      .prompt = choice.prompt, .sequence = choice.sequence, .layer = choice.layer, .stop_asked = [&control] {
        return control.wants_stop();
      }};
  const auto observe = [&](std::span<const attention::LayerReplay> replays,
                           const attention::LayerRows&) -> Status {
    if (control.wants_stop()) return interrupted_error();
    for (std::size_t i = 0; i < replays.size(); ++i) {
      const attention::LayerReplay& replay = replays[i];
      PolicyTrack& track = run->tracks[i];
      track.kept.push_back(replay.reported(set_of(replay, layer, choice.head)));
      if (replay.tokens() <= choice.prompt) continue;
      const auto head = static_cast<std::size_t>(choice.head);
      track.mass.push_back(replay.attended_mass()[head]);
      if (!replay.output_error().empty()) track.error.push_back(replay.output_error()[head]);
    }
    return Done{};
  };
  KVPLAN_TRY(auto summaries, attention::evaluate_together(recording, where, policies, observe));
  for (std::size_t i = 0; i < summaries.size(); ++i) run->tracks[i].summary = std::move(summaries[i]);
  return AttentionRunPtr(std::move(run));
}

TableContent attention_table(const AttentionRunPtr& run, std::int64_t step) {
  TableContent content;
  content.columns = {
      {Attention::tr("Policy"), QStringLiteral("policy"), CellKind::kText, {}},
      {Attention::tr("Kept now"), QStringLiteral("retained"), CellKind::kCount,
       Attention::tr("Tokens that the policy keeps for this head at this step")},
      {Attention::tr("Mass now"), QStringLiteral("attended_mass"), CellKind::kNumber,
       Attention::tr("Attention of this head and step that falls on kept tokens; 1 is all of it")},
      {Attention::tr("Error now"), QStringLiteral("output_error"), CellKind::kNumber,
       Attention::tr("Relative error of the attention output of this head and step")},
      {Attention::tr("Mean mass"), QStringLiteral("mean_attended_mass"), CellKind::kNumber,
       Attention::tr("Mean over all decode steps and query heads of the layer")},
      {Attention::tr("Least mass"), QStringLiteral("min_attended_mass"), CellKind::kNumber, {}},
      {Attention::tr("Mean error"), QStringLiteral("mean_output_error"), CellKind::kNumber, {}},
      {Attention::tr("Bytes"), QStringLiteral("bytes"), CellKind::kBytes,
       Attention::tr("Of this layer after the last step, with the policy's metadata")},
      {Attention::tr("Full"), QStringLiteral("full_bytes"), CellKind::kBytes,
       Attention::tr("Of the full cache of this layer")},
  };
  if (!run) return content;
  content.rows = static_cast<int>(run->tracks.size());
  content.value = [run, step](int row, int column) -> TableValue {
    const PolicyTrack& track = run->tracks[static_cast<std::size_t>(row)];
    const auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(step, 0, run->steps() - 1));
    const auto maybe = [](const std::optional<double>& value) {
      return value ? TableValue(*value) : TableValue();
    };
    const auto now = [&](const std::vector<double>& values) {
      return at == 0 || values.empty() ? TableValue() : TableValue(values[at - 1]);
    };
    switch (column) {
      case 0:
        return to_qstring(track.name);
      case 1:
        return static_cast<std::int64_t>(track.kept[at].size());
      case 2:
        return now(track.mass);
      case 3:
        return now(track.error);
      case 4:
        return maybe(track.summary.mean_mass);
      case 5:
        return maybe(track.summary.min_mass);
      case 6:
        return maybe(track.summary.mean_output_error);
      case 7:
        return track.summary.bytes;
      default:
        return track.summary.full_bytes;
    }
  };
  return content;
}

}  // namespace kvplan::gui
