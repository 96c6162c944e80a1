#include "gui/views/registry.h"

#include <QCoreApplication>
#include <array>

#include "gui/views/attention/attention_view.h"
#include "gui/views/blocks/blocks_view.h"
#include "gui/views/compare/compare_view.h"
#include "gui/views/plan/plan_view.h"
#include "gui/views/requests/requests_view.h"
#include "gui/views/sweep/sweep_view.h"
#include "gui/views/timeline/timeline_view.h"
#include "gui/views/validation/validation_view.h"

namespace kvplan::gui {
namespace {

template <class V>
View* make() {
  return new V;
}

constexpr std::array kViews{
    ViewEntry{"timeline", QT_TRANSLATE_NOOP("Views", "Timeline"), make<TimelineView>, nullptr},
    ViewEntry{"blocks", QT_TRANSLATE_NOOP("Views", "Blocks"), make<BlocksView>, nullptr},
    ViewEntry{"requests", QT_TRANSLATE_NOOP("Views", "Requests"), make<RequestsView>, nullptr},
    ViewEntry{"attention", QT_TRANSLATE_NOOP("Views", "Attention"), make<AttentionView>, read_recording},
    ViewEntry{"compare", QT_TRANSLATE_NOOP("Views", "Compare"), make<CompareView>, nullptr},
    ViewEntry{"sweep", QT_TRANSLATE_NOOP("Views", "Sweep"), make<SweepView>, read_sweep},
    ViewEntry{"plan", QT_TRANSLATE_NOOP("Views", "Plan"), make<PlanView>, read_plan},
    ViewEntry{"validation", QT_TRANSLATE_NOOP("Views", "Validation"), make<ValidationView>, read_validation},
};

}  // namespace

std::span<const ViewEntry> view_entries() {
  return kViews;
}

QString view_title(const ViewEntry& entry) {
  return QCoreApplication::translate("Views", entry.title);
}

std::optional<Result<DocumentPtr>> read_document(std::string_view head, const std::string& path) {
  for (const ViewEntry& entry : kViews) {
    if (entry.read == nullptr) continue;
    if (auto read = entry.read(head, path)) return read;
  }
  return std::nullopt;
}

}  // namespace kvplan::gui
