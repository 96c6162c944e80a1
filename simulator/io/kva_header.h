// Converts the header of a .kva file, both versions, between message and struct. Used by the reader and the writer
// only.
#pragma once

#include "simulator/attention/recording.h"

namespace kvplan::v1 {
class AttentionHeader;
class AttentionSequence;
}  // namespace kvplan::v1

namespace kvplan::io {

/// Checks all limits; the error's field names the number. Sizes that are not stated are 0, as in the file.
Result<attention::RecordingInfo> info_of(const v1::AttentionHeader& header);
/// Fills in values about the model's cache that the header does not have, and marks them as assumed.
void assume_sizes(attention::RecordingInfo& info);
/// REQUIRES: check_kva_limits reports no error.
v1::AttentionHeader header_of(const attention::RecordingInfo& info);

/// The message of a sequence, in version 2.
Result<attention::SequenceInfo> sequence_of(const v1::AttentionSequence& message);
v1::AttentionSequence message_of(const attention::SequenceInfo& sequence, std::int32_t number);

}  // namespace kvplan::io
