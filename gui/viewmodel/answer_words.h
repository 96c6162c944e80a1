// The answer of a run in words, and definitions of these words.
//
// The sentences are those of `kvplan run`, in English as all messages of the library.
#pragma once

#include <QString>
#include <vector>

#include "simulator/run/run_summary.h"

namespace kvplan::gui {

/// At most three sentences: the verdict, then what limits the run.
std::vector<QString> answer_of(const runs::RunSummary& run);

/// A word of the answer with its definition.
struct DefinedWord {
  QString word;        ///< as it occurs in sentences
  QString definition;  ///< in the language of the window
};
/// All defined words; a longer word comes before a word with which it begins.
std::vector<DefinedWord> defined_words();

}  // namespace kvplan::gui
