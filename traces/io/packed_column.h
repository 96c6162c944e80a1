// One packed column of a Protobuf message, taken out of its bytes before Protobuf reads the rest: prefix ids are
// nine tenths of most traces, and Protobuf would first make a list of 64-bit numbers of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvplan::traces::kvt {

/// Reads a varint from the front of `bytes` and drops it there; false, with nothing read for good, where none is
/// whole or it is longer than ten bytes. Bits beyond 64 are lost, as in Protobuf.
inline bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// A message cut where one packed column stands in it. Each part is a message by itself, or empty; views.
struct CutMessage {
  std::string_view before;
  std::string_view
      column;  ///< the column's varints, without its key and size; empty where the message has none
  std::string_view after;
};

/// Finds field `number` in `message`. False where the bytes are no message, or have the field more than once or in
/// another form.
bool cut_at_column(std::string_view message, std::uint32_t number, CutMessage& parts);

/// How many varints these bytes hold.
std::size_t count_varints(std::string_view column);

/// Calls `take` with each number of a packed sint64 column; false where a varint is too long or cut off.
template <class Take>
bool each_sint64(std::string_view column, Take&& take) {
  while (!column.empty()) {
    std::uint64_t value = static_cast<unsigned char>(column.front());
    if (value < 0x80) {
      column.remove_prefix(1);
    } else if (!take_varint(column, value)) {
      return false;
    }
    take(static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1))));
  }
  return true;
}

/// Ids out of a packed column of steps: the running sum, from 0.
struct DecodedIds {
  std::size_t count{0};    ///< ids that were written
  bool whole{true};        ///< false: there are more ids than `room`, or a varint is too long or cut off
  bool dense{true};        ///< false: an id is greater than all before it by more than one
  std::uint64_t distinct;  ///< greatest id and one more; means nothing where not dense
};
/// `distinct`: ids below it were there before this column. REQUIRES: `out` has room for `room` ids.
DecodedIds decode_ids(std::string_view column, std::uint64_t distinct, std::uint32_t* out, std::size_t room);

}  // namespace kvplan::traces::kvt
