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
  bool numbers{true};  ///< cells align right
};

struct Content {
  std::string title;
  std::vector<std::string> verdict;  ///< what became of the requests
  std::vector<std::string> meaning;  ///< what limits, and where the bytes go
  Table scenario;
  std::vector<Table> tables;
  std::vector<std::string> warnings, assumptions;
};

/// How a pool follows from a device's memory, line by line.
Table derivation_table(const std::vector<model::PoolItem>& items, std::string title);

/// Everything that a report says. The short form is overview.h.
Content run_content(const plan::RunSummary& result);

// Tables that the short form prints too.
std::string title_of(const plan::RunSummary& result);
/// Queue, TTFT, TPOT and E2E, with targets where requests have any.
Table latency_table(const plan::RunSummary& result);
/// The ten states; with `used_only` those that had a byte at some time.
Table memory_table(const plan::RunSummary& result, bool used_only);
/// Where the value of a scenario's field came from, and those of its parameters that came from elsewhere.
std::string sources_text(const plan::Scenario& scenario, std::size_t field);

/// Whether the requests completed, whether the targets hold, whether requests came faster than they were served, and
/// whether the engine would start.
std::vector<std::string> verdict_of(const plan::RunSummary& result);

/// What limits the run (memory or running slots), and what preemption and prefix hits did to the work.
std::vector<std::string> limits_of(const plan::RunSummary& result);

/// Which states the bytes are in, then `limits_of`. Each sentence says only what the numbers of the result carry.
std::vector<std::string> meaning_of(const plan::RunSummary& result);

/// Of what is stranded on average, how much was too short and how much fragmented, in brackets after a space: " (12 % of
/// it too little for the request, 88 % fragmented)". Empty where nothing is.
std::string stranded_kinds(const plan::RunSummary& result);

/// What a byte in this state is, in a few words.
std::string_view state_words(observe::State state);

}  // namespace kvplan::report
