// What a report of a run says, before it becomes text or HTML: tables of finished cells, and a few sentences
// that follow from the numbers. Both forms print the same content.
#pragma once

#include <string>
#include <vector>

#include "simulator/model/pool.h"
#include "simulator/run/run.h"

namespace kvplan::report {

struct Row {
  std::string label;
  std::vector<std::string> cells;  ///< as many as the table has columns
  double bar{-1};                  ///< share 0..1 drawn as a bar; negative: none
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
  Table scenario;
  std::vector<Table> tables;
  std::vector<std::string> warnings, assumptions;
  std::vector<std::string> meaning;
};

/// How a pool follows from a device's memory, line by line.
Table derivation_table(const std::vector<model::PoolItem>& items, std::string title);

Content run_content(const plan::RunSummary& result);

/// The sentences: which state takes the bytes, what limits, what preemption costs. Each says only what the
/// numbers of the result carry.
std::vector<std::string> meaning_of(const plan::RunSummary& result);

/// Of what is stranded on average, how much was too short and how much fragmented, in brackets after a space: " (of it
/// 12 % too short for the request, 88 % fragmented)". Empty where nothing is.
std::string stranded_kinds(const plan::RunSummary& result);

/// What a byte in this state is, in a few words.
std::string_view state_words(observe::State state);

}  // namespace kvplan::report
