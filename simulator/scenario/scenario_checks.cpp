#include "simulator/scenario/scenario_checks.h"

#include <string>

#include "simulator/readers/catalogue.h"
#include "simulator/scenario/run_format.h"

namespace kvplan::runs {
namespace {

std::string counted_readers() {
  std::string out;
  for (const readers::ReaderKind* kind : readers::readers())
    if (kind->counted != nullptr) out += (out.empty() ? "" : ", ") + std::string(kind->descriptor.name);
  return out;
}

}  // namespace

Status check_told_by_lengths(const Scenario& s) {
  if (s.reader && readers::reader_of(*s.reader).kind->counted == nullptr)
    return bad_input("how much \"" + std::string(s.reader->name()) +
                     "\" reads depends on the keys (use `kvplan attention read`): expected a sparse "
                     "attention method with reads that follow from lengths (" +
                     counted_readers() + "), found " + s.text("reader"))
        .at_field("reader");
  if (s.window_format && s.window_format->encoded &&
      !formats::follows_from_positions(*s.window_format->encoded, 0))
    return bad_input(
               "what \"" + std::string(s.window_format->encoded->choice.name()) +
               "\" stores in a sliding window depends on the numbers: expected a format with bytes that "
               "follow from lengths, found " +
               s.text("window_format"))
        .at_field("window_format");
  return Done{};
}

}  // namespace kvplan::runs
