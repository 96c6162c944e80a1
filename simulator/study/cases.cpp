#include "simulator/study/cases.h"

#include <new>
#include <stdexcept>

namespace kvplan::runs {
namespace {

RunOptions run_options(const Wanted& wanted, const Openers& openers, core::RunControl* control) {
  RunOptions options{openers};
  options.timeline_bins = wanted.timeline_bins;
  options.timeline_joined = true;
  options.control = control;
  if (wanted.decided) options.extra_observers.push_back(wanted.decided->observer());
  return options;
}

}  // namespace

std::int64_t requests_to_serve(const Case& one) {
  return requests_to_serve(one.scenario, *one.trace, run_options(one.wanted, {}, nullptr));
}

Outcome run_case(std::int64_t number, const CaseMaker& make, const Openers& openers,
                 core::RunControl* control) {
  Outcome outcome{number};
  if (control != nullptr && control->wants_stop()) {
    outcome.error = interrupted_error();
    return outcome;
  }
  try {
    const Result<Case> made = make(number);
    if (!made) {
      outcome.error = made.error();
      return outcome;
    }
    const Case& one = made.value();
    Result<RunResult> result =
        run_scenario(one.scenario, *one.trace, run_options(one.wanted, openers, control));
    if (!result) {
      outcome.error = result.error();
      return outcome;
    }
    outcome.result = std::move(result).value();
    if (!one.wanted.requests) forget_requests(*outcome.result);
    return outcome;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  outcome.result.reset();
  outcome.error = bad_input("out of memory");
  outcome.starved = true;
  return outcome;
}

Status run_cases(const Cases& cases) {
  Batch batch;
  batch.threads = cases.threads;
  batch.next = cases.next;
  batch.run = [&cases](std::int64_t number) {
    return run_case(number, cases.make, cases.openers, cases.control);
  };
  batch.done = cases.done;
  batch.idle = cases.idle;
  return run_batch(batch);
}

}  // namespace kvplan::runs
