// A comparison as an answer: sentences computed from the numbers of simulator/study/answer.h, and the figures that they
// rest on. Text, JSON and HTML print the same.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/study/answer.h"

namespace kvplan::report {

/// What the comparison says, the most important sentence first. Of each sentence that puts two variants into relation
/// one is the best that did the same work as the first, the other the first, or, where that is the best, the worst.
std::vector<std::string> answer_sentences(const plan::Comparison& comparison);

/// The same without the sentence that each variant has of its own, unless there are no others: tables say the same.
std::vector<std::string> short_answer_sentences(const plan::Comparison& comparison);

/// A sentence for each knee, behind one that says what a knee is. Empty without knees.
std::vector<std::string> knee_sentences(const plan::Comparison& comparison);

/// Member "answer": {sentences[], facts[{variant, metric, value, versus, ratio}]} into an object that is open.
void write_answer(JsonWriter& json, const plan::Comparison& comparison);

/// How a reader calls a metric: "output tokens per second".
std::string_view metric_words(std::string_view metric);
/// A value of a metric with its unit: "12.3 ms", "1,014", "57.3 %".
std::string metric_text(std::string_view metric, double value);

}  // namespace kvplan::report
