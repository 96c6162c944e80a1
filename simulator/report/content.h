// The content of a run's report before it becomes text or HTML: tables of formatted cells, and sentences that follow
// from the numbers. Both forms print the same content.
#pragma once

#include <string>
#include <vector>

#include "simulator/model/pool.h"
#include "simulator/run/run.h"

namespace kvplan::report {

struct Row {
  std::string label;
  std::vector<std::string> cells;  ///< as many as the table has columns
  double bar{-1};                  ///< share 0..1 drawn as a bar; negative: no bar
  std::string note{};              ///< plain words beside the row
};

struct Table {
  std::string title;
  std::vector<std::string> columns;  ///< headings of the cells; the label has none
  std::vector<Row> rows;
  bool numbers{true};  ///< true: cells are aligned right
};

struct Content {
  std::string title;
  std::vector<std::string> verdict;  ///< whether the requests were served within their targets
  std::vector<std::string> meaning;  ///< what limits the run, and how memory was used
  Table scenario;
  std::vector<Table> tables;
  std::vector<std::string> warnings, assumptions;
};

/// How a pool follows from a device's memory, line by line.
Table derivation_table(const std::vector<model::PoolItem>& items, std::string title);

/// All content of a report. The short form is overview.h.
Content run_content(const runs::RunSummary& result);

// Tables that the short form prints too.
std::string title_of(const runs::RunSummary& result);
/// Queue, TTFT, TPOT and E2E, with the targets of the requests, if any.
Table latency_table(const runs::RunSummary& result);
/// The ten states; with `used_only` those that had a byte at some time.
Table memory_table(const runs::RunSummary& result, bool used_only);
/// The source of a field's value, and the parameters with other sources.
std::string sources_text(const runs::Scenario& scenario, std::size_t field);

/// Sentences: did the requests complete, do the targets hold, did requests arrive faster than they were served, and
/// would the engine start?
std::vector<std::string> verdict_of(const runs::RunSummary& result);

/// Sentences: what limits the run (memory or running slots), and how preemption and prefix hits changed the work.
std::vector<std::string> limits_of(const runs::RunSummary& result);

/// Sentences: the states of the bytes, then `limits_of`. Each says only what the numbers of the result support.
std::vector<std::string> meaning_of(const runs::RunSummary& result);

/// The kinds of stranded memory on average, as text to append: " (12 % of it too little for the request, 88 %
/// fragmented)". Empty if nothing is stranded.
std::string stranded_kinds(const runs::RunSummary& result);

/// The meaning of a state, in a few words.
std::string_view state_words(observe::State state);

}  // namespace kvplan::report
