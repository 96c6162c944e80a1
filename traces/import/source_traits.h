// Properties of all rows of a source.
#pragma once

namespace kvplan::traces {

/// Facts about a source as a whole that its importer knows.
struct SourceTraits {
  /// True: an id of the source identifies the content of one block, not the blocks before it; it is replaced by one id
  /// for each prefix in which it occurs.
  bool content_ids{false};
  bool whole_prompts{false};  ///< a turn's lengths count its whole prompt: one shorter than before is normal
  bool turns_wait{false};     ///< a row waits for the one before it in its session, unless it says otherwise
  bool clock_per_session{false};  ///< arrivals of different sessions are not compared
};

}  // namespace kvplan::traces
