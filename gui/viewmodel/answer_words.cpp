#include "gui/viewmodel/answer_words.h"

#include <QCoreApplication>

#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/headline.h"
#include "simulator/report/content.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Words {
  Q_DECLARE_TR_FUNCTIONS(Words)
};

constexpr std::size_t kMostSentences = 3;

}  // namespace

std::vector<QString> answer_of(const runs::RunSummary& run) {
  std::vector<QString> sentences;
  for (const auto& group : {report::verdict_of(run), report::limits_of(run)})
    for (const std::string& sentence : group)
      if (sentences.size() < kMostSentences) sentences.push_back(to_qstring(sentence));
  return sentences;
}

std::vector<DefinedWord> defined_words() {
  std::vector<DefinedWord> words{
      {QStringLiteral("preemptions"),
       Words::tr("A request that cannot grow takes the memory of a running request of "
                 "lower priority, which loses it and computes its tokens again.")},
      {QStringLiteral("preempted"),
       Words::tr("Its memory was taken for another request; it waits and computes its "
                 "tokens again.")},
      {QStringLiteral("Preemption"),
       Words::tr("A request that cannot grow takes the memory of a running request of "
                 "lower priority, which loses it and computes its tokens again.")},
      {QStringLiteral("Prefix caching"),
       Words::tr("Blocks of earlier prompts are kept while there is room, and found "
                 "again by prompts that begin likewise.")},
      {QStringLiteral("refused"), Words::tr("An allocation found too little memory.")},
      {QStringLiteral("running slots"), Words::tr("The engine runs a limited number of requests at once.")},
      {QStringLiteral("one replica"), Words::tr("One engine with one pool of memory.")},
  };
  for (std::size_t s = 0; s < observe::kStates; ++s)
    words.push_back({to_qstring(observe::kStateNames[s]), state_meaning(static_cast<observe::State>(s))});
  return words;
}

}  // namespace kvplan::gui
