// Formats that encode a request's tokens when their prompt is complete, as scenarios name them, for heads of 32
// channels.
#pragma once

#include <string>
#include <vector>

namespace kvplan::test {

/// At least one text for each such member of the catalogue (EncodedCourse.EveryCodecEqualsBlocksFilledByteByByte).
inline const std::vector<std::string>& encoded_formats() {
  static const std::vector<std::string> kAll{"int-tensor",
                                             "int-tensor:scale=running",
                                             "int-channel:group=8",
                                             "nvfp4",
                                             "kivi:group=8,residual=16",
                                             "kvquant:iterations=1,outliers=0.2",
                                             "kvquant:iterations=1,bits=2,outliers=0",
                                             "gear:group=8,residual=8,rank=2",
                                             "mixed:recent=5,middle=9",
                                             "pyramid-int8",
                                             "pyramid-int8:max_len=20,min_size=4",
                                             "svd:rank=2",
                                             "layered:window=9,keep_recent=4,rank=2",
                                             "eigen",
                                             "kmeans:clusters=3,recent=2,sinks=1",
                                             "minicache:share=0.3"};
  return kAll;
}

}  // namespace kvplan::test
