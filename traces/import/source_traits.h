// What is true of all rows of a source.
#pragma once

namespace kvplan::traces {

/// What an importer knows of its source as a whole.
struct SourceTraits {
  /// An id of the source says what is in one block and nothing of what is before it; it becomes one id for each
  /// way to get there.
  bool content_ids{false};
  bool whole_prompts{false};  ///< a turn's lengths count all of its prompt: a shorter one is no oddity
  bool turns_wait{false};     ///< a row waits for the one before it in its session, unless it says for whom
  bool clock_per_session{false};  ///< arrivals of different sessions are not compared
};

}  // namespace kvplan::traces
