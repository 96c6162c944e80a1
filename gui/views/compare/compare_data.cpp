#include "gui/views/compare/compare_data.h"

#include <QCoreApplication>
#include <algorithm>
#include <memory>

#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/headline.h"
#include "simulator/results/figures.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Compare {
  Q_DECLARE_TR_FUNCTIONS(Compare)
};

std::optional<double> row_at(const Slot& slot, std::size_t row, std::optional<std::int64_t> cursor) {
  if (!slot.result) return std::nullopt;
  const TimelineData* data = slot.result->timeline.get();
  if (cursor) {
    if (data == nullptr || data->empty() || *cursor >= data->whole().end) return std::nullopt;
    return data->bins()[data->bin_at(*cursor)].mean(row);
  }
  const runs::RunSummary& run = slot.result->run;
  if (row < observe::kStates) {
    if (!run.memory || !run.memory->timed) return std::nullopt;
    return run.memory->mean_bytes[row];
  }
  if (row == kRunningRow) return run.mean_running;
  if (data == nullptr || data->empty()) return std::nullopt;
  return data->columns(data->whole(), 1).front().mean(row);
}

struct ShownFigure {
  const char* name;  ///< key of reports
  const char* title;
  CellKind kind;
};
constexpr std::array kFigures{
    ShownFigure{"latency_s.ttft.p50", QT_TRANSLATE_NOOP("Compare", "TTFT p50"), CellKind::kSeconds},
    ShownFigure{"latency_s.ttft.p99", QT_TRANSLATE_NOOP("Compare", "TTFT p99"), CellKind::kSeconds},
    ShownFigure{"latency_s.tpot.p50", QT_TRANSLATE_NOOP("Compare", "TPOT p50"), CellKind::kSeconds},
    ShownFigure{"latency_s.tpot.p99", QT_TRANSLATE_NOOP("Compare", "TPOT p99"), CellKind::kSeconds},
    ShownFigure{"throughput.output_tokens_per_s", QT_TRANSLATE_NOOP("Compare", "Output tokens per s"),
                CellKind::kNumber},
    ShownFigure{"requests.completed", QT_TRANSLATE_NOOP("Compare", "Completed"), CellKind::kCount},
    ShownFigure{"requests.rejected", QT_TRANSLATE_NOOP("Compare", "Rejected"), CellKind::kCount},
    ShownFigure{"preemptions", QT_TRANSLATE_NOOP("Compare", "Preemptions"), CellKind::kCount},
    ShownFigure{"tokens.recomputed", QT_TRANSLATE_NOOP("Compare", "Recomputed tokens"), CellKind::kCount},
    ShownFigure{"tokens.prefix_hit", QT_TRANSLATE_NOOP("Compare", "Prefix hit tokens"), CellKind::kCount},
    ShownFigure{"iterations", QT_TRANSLATE_NOOP("Compare", "Steps"), CellKind::kCount},
    ShownFigure{"makespan_s", QT_TRANSLATE_NOOP("Compare", "Makespan"), CellKind::kSeconds},
};

QString difference_text(const ComparedRow& row, std::size_t slot) {
  const auto &a = row.values.front(), &b = row.values[slot];
  if (!a || !b) return QStringLiteral("–");
  const double difference = *b - *a;
  if (difference == 0) return QStringLiteral("=");
  const QString size = shown_text(TableValue(std::abs(difference)), row.kind);
  return (difference > 0 ? QStringLiteral("+") : QStringLiteral("−")) + size;
}

}  // namespace

std::vector<ComparedRow> compared_rows(const std::vector<Slot>& slots, std::optional<std::int64_t> cursor) {
  std::vector<ComparedRow> rows;
  for (std::size_t row = 0; row < kTimelineRows; ++row) {
    ComparedRow compared;
    const bool bytes = row < observe::kStates;
    compared.title = bytes                ? state_name(static_cast<observe::State>(row))
                     : row == kRunningRow ? Compare::tr("running")
                                          : Compare::tr("waiting");
    compared.name = bytes                ? to_qstring(observe::kStateNames[row]) + QStringLiteral("_bytes")
                    : row == kRunningRow ? QStringLiteral("running")
                                         : QStringLiteral("waiting");
    compared.kind = bytes ? CellKind::kBytes : CellKind::kNumber;
    for (const Slot& slot : slots) compared.values.push_back(row_at(slot, row, cursor));
    rows.push_back(std::move(compared));
  }
  for (const ShownFigure& figure : kFigures) {
    ComparedRow compared{QCoreApplication::translate("Compare", figure.title),
                         QString::fromLatin1(figure.name),
                         figure.kind,
                         {}};
    for (const Slot& slot : slots)
      compared.values.push_back(slot.result
                                    ? runs::number_of(runs::figure_named(figure.name).value(slot.result->run))
                                    : std::nullopt);
    rows.push_back(std::move(compared));
  }
  return rows;
}

QString slot_letter(std::size_t slot) {
  return QString(QChar(u'A' + static_cast<char16_t>(slot)));
}

std::vector<QString> slot_names(const std::vector<Slot>& slots) {
  std::vector<QString> names;
  for (const Slot& slot : slots) {
    QStringList own;
    for (const runs::Setting& setting : slot.settings) {
      const bool common = std::all_of(slots.begin(), slots.end(), [&](const Slot& other) {
        return std::any_of(other.settings.begin(), other.settings.end(), [&](const runs::Setting& s) {
          return s.path == setting.path && s.text == setting.text;
        });
      });
      if (!common) own << to_qstring(setting.path) + QLatin1Char('=') + to_qstring(setting.text);
    }
    names.push_back(own.isEmpty() ? Compare::tr("as opened") : own.join(QStringLiteral(" ")));
  }
  return names;
}

TableContent compared_table(const std::vector<Slot>& slots, std::optional<std::int64_t> cursor) {
  auto rows = std::make_shared<std::vector<ComparedRow>>(compared_rows(slots, cursor));
  const auto names = slot_names(slots);
  TableContent content;
  content.columns.push_back({cursor ? Compare::tr("At the cursor") : Compare::tr("Mean of the run"),
                             QStringLiteral("figure"),
                             CellKind::kText,
                             {}});
  std::vector<std::pair<std::size_t, bool>> meaning{{0, false}};
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const QString letter = slot_letter(slot);
    content.columns.push_back({letter, letter, CellKind::kText, names[slot]});
    meaning.emplace_back(slot, false);
    if (slot == 0) continue;
    content.columns.push_back({Compare::tr("%1 less A").arg(letter), letter + QStringLiteral("-A"),
                               CellKind::kText, Compare::tr("The difference from A")});
    meaning.emplace_back(slot, true);
  }
  content.rows = static_cast<int>(rows->size());
  // Values of different units stand in one column, so each is shown by its row.
  content.value = [rows, meaning](int row, int column) -> TableValue {
    const ComparedRow& compared = (*rows)[static_cast<std::size_t>(row)];
    if (column == 0) return compared.title;
    const auto& [slot, difference] = meaning[static_cast<std::size_t>(column)];
    if (difference) return difference_text(compared, slot);
    const auto& value = compared.values[slot];
    return value ? TableValue(shown_text(TableValue(*value), compared.kind)) : TableValue();
  };
  return content;
}

}  // namespace kvplan::gui
