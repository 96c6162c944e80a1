#include "simulator/planner/plan_text.h"

#include "simulator/planner/plan_sentences.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::planner {
namespace {

class Writer {
 public:
  Writer(const Plan& plan, std::size_t width) : plan_(plan), width_(width) {}

  void head(const std::string& text) { out_ += report::wrapped(text, width_, "  ") + "\n"; }
  void line(const std::string& text) { out_ += report::wrapped("  " + text, width_, "    ") + "\n"; }
  void title(const std::string& text) { out_ += "\n" + text + "\n"; }
  /// Nothing where there are no lines.
  void section(const std::string& name, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    title(name);
    for (const std::string& each : lines) line(each);
  }

  void rate(const RatePlan& rate) {
    title(answer_title(plan_, rate));
    line(answer_line(plan_, rate));
    out_ += "\n" + report::table_text(targets_table(rate), width_);
    line(service_line(plan_, rate));
    section("Around it", around_lines(plan_, rate));
    section("How sure", sure_lines(rate));
    section("Other devices", other_device_lines(plan_, rate));
    for (const std::string& tie : rate.ties) line("the same price: " + tie);
    section("What formulas would have bought", formula_lines(plan_, rate));
    if (!rate.exported) return;
    title("How to start it");
    out_ += rate.exported->text;
  }

  void rest(bool verbose) {
    section("Doubts", doubt_lines(plan_, verbose));
    if (!verbose) {
      line("The search tried " + report::grouped(std::ssize(plan_.path)) + " cases; " +
           std::to_string(plan_.refused.size()) + " shapes were left out (--verbose lists both)");
      return;
    }
    title("Shapes that were left out");
    for (const Refusal& each : plan_.refused) line(each.shape + ": " + each.why);
    title("Steps of the search");
    for (const PathStep& each : plan_.path) line(each.name + " (" + each.why + "): " + each.outcome);
  }
  std::string take() { return std::move(out_); }

 private:
  const Plan& plan_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

std::string plan_text(const Plan& plan, std::size_t width, bool verbose) {
  Writer writer(plan, width);
  writer.head(question_line(plan));
  if (plan.interrupted) writer.head("Interrupted: the best so far; what is missing was not run.");
  for (const RatePlan& rate : plan.rates)
    if (rate.best) writer.rate(rate);
  writer.rest(verbose);
  return writer.take();
}

}  // namespace kvplan::planner
