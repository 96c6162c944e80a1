// The answer of a run in words, and what the words of it mean.
//
// The sentences are those of `kvplan run`, in English as all messages of the library.
#pragma once

#include <QString>
#include <vector>

#include "simulator/run/run_summary.h"

namespace kvplan::gui {

/// What limits the run, after the verdict: at most three sentences.
std::vector<QString> answer_of(const runs::RunSummary& run);

/// A word of the answer with its definition.
struct DefinedWord {
  QString word;        ///< as it stands in sentences
  QString definition;  ///< in the language of the window
};
/// All words that are defined; longer ones before their beginnings.
std::vector<DefinedWord> defined_words();

}  // namespace kvplan::gui
