// The header of a .kva file, both versions: from a message and back. Used by the reader and the writer only.
#pragma once

#include "simulator/attention/recording.h"

namespace kvplan::v1 {
class AttentionHeader;
class AttentionSequence;
}  // namespace kvplan::v1

namespace kvplan::io {

/// Checked against all limits; the error's field names the number. Sizes that are not stated are as the file has
/// them, 0.
Result<attention::RecordingInfo> info_of(const v1::AttentionHeader& header);
/// What it does not say of the model's cache is assumed, and said so.
void assume_sizes(attention::RecordingInfo& info);
/// REQUIRES: check_kva_limits.
v1::AttentionHeader header_of(const attention::RecordingInfo& info);

/// Version 2.
Result<attention::SequenceInfo> sequence_of(const v1::AttentionSequence& message);
v1::AttentionSequence message_of(const attention::SequenceInfo& sequence, std::int32_t number);

}  // namespace kvplan::io
