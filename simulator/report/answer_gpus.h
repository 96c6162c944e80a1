// Sentences about throughput per device and the number of devices, if variants have different numbers or kinds of
// them.
#pragma once

#include <string>

#include "simulator/report/answer_view.h"

namespace kvplan::report {

/// The sentence about throughput per device, if the number of devices differs; else empty.
std::string per_gpu_sentence(const View& view);
/// Among variants with targets and the same load: the one with the fewest devices that meets the targets often enough;
/// one for each kind of device, since different kinds cannot be compared by number. Empty if there is none.
std::string fewest_gpus_sentence(const View& view);
/// Among variants with targets, prices and the same load: the cheapest that meets its targets often enough. Empty if
/// there is none.
std::string cheapest_sentence(const View& view);

}  // namespace kvplan::report
