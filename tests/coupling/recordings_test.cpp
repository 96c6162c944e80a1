// Which sequences of which files are used for the requests of a run.
#include <gtest/gtest.h>

#include "simulator/io/attention_json.h"
#include "simulator/retention/run_recordings.h"

namespace kvplan::runs {
namespace {

const std::string kSample = KVPLAN_SOURCE_DIR "/traces/samples/tiny_llama.kva";

/// The lengths of the opened sequences, or the error.
std::string opened(const std::vector<std::string>& paths) {
  std::vector<std::string> warnings;
  const RecordingOpener open = [](const std::string& path) { return io::open_attention(path); };
  const auto recordings = open_recordings(paths, open, warnings);
  if (!recordings.ok()) return recordings.error().to_string();
  std::string out;
  for (const Recorded& each : recordings.value())
    out += std::to_string(each.sequence) + ":" + std::to_string(each.tokens) + " ";
  return out;
}

TEST(Recordings, OfAFileAllSequencesOrOne) {
  const std::string all = "0:800 1:416 2:224 3:191 4:647 5:391 6:198 7:135 ";
  EXPECT_EQ(opened({kSample}), all);
  EXPECT_EQ(opened({kSample + "@5", kSample + "@1"}), "5:391 1:416 ");
  EXPECT_EQ(opened({kSample + "@7", kSample, kSample + "@0"}), "7:135 " + all + "0:800 ");
  EXPECT_EQ(opened({kSample + "@8"}),
            "workload.attention: " + kSample + ": expected a sequence index below 8, found 8");
}

/// Text after the sign that is not a number belongs to the name.
TEST(Recordings, NamesMayHaveTheSign) {
  for (const std::string path : {"of@home.kva", "a@1/b.kva", "c@", "d@-1", "e@1x"})
    EXPECT_EQ(opened({path}).find(path), 0U) << opened({path});
}

}  // namespace
}  // namespace kvplan::runs
