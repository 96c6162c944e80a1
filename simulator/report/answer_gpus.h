// Sentences about what devices give and how many of them do, where variants have different numbers or kinds of them.
#pragma once

#include <string>

#include "simulator/report/answer_view.h"

namespace kvplan::report {

/// What each device gives, where their number differs; else empty.
std::string per_gpu_sentence(const View& view);
/// Of variants with targets and the same load, that with the fewest devices which meets them often enough; of devices
/// of several kinds one for each kind, since they are not counted against each other. Empty where there is none.
std::string fewest_gpus_sentence(const View& view);
/// Of variants with targets, prices and the same load, the cheapest that meets them often enough. Empty where there is
/// none.
std::string cheapest_sentence(const View& view);

}  // namespace kvplan::report
