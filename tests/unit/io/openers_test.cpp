// Files as runs read them: they are distinguished by their whole content.
#include "simulator/io/openers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/traces/support.h"
#include "traces/io/output.h"

namespace kvplan::io {
namespace {

using traces::testing::TemporaryFolder;
using traces::testing::write_file;

TEST(Openers, TheDigestIsFnvOverWhatIsPacked) {
  const TemporaryFolder folder;
  // The test vectors of the FNV page for 64 bits, variant 1a.
  for (const auto& [text, digest] :
       {std::pair{"", "cbf29ce484222325"}, {"a", "af63dc4c8601ec8c"}, {"foobar", "85944171f73967e8"}}) {
    write_file(folder.file("f"), text);
    EXPECT_EQ(content_digest(folder.file("f")).value(), digest);
    EXPECT_EQ(whole_digest(folder.file("f")).value(), digest);
  }
  const auto packed = traces::create_output(folder.file("f.gz")).value();
  ASSERT_TRUE(packed->write("foobar").ok() && packed->commit().ok());
  EXPECT_EQ(content_digest(folder.file("f.gz")).value(), "85944171f73967e8");
  EXPECT_FALSE(content_digest(folder.file("absent")).ok());
}

TEST(Openers, AFileThatNamesOthersIsNotKnownByItsBytes) {
  const TemporaryFolder folder;
  write_file(folder.file("tensors.json"), R"( {"T": 4, "files": {"Q": "q.bin"}})");
  write_file(folder.file("other.json"), R"({"T": 4, "file": "q.bin"})");
  EXPECT_TRUE(content_digest(folder.file("tensors.json")).ok());
  EXPECT_EQ(whole_digest(folder.file("tensors.json")).error().to_string(),
            folder.file("tensors.json") + ": names further files");
  EXPECT_EQ(whole_digest(folder.file("other.json")).value(),
            content_digest(folder.file("other.json")).value());
}

TEST(Openers, ADigestEndsWhenAskedTo) {
  const TemporaryFolder folder;
  write_file(folder.file("f"), std::string(1 << 20, 'x'));
  for (auto* digest : {content_digest, whole_digest})
    EXPECT_EQ(digest(folder.file("f"), [] { return true; }).error().kind, ErrorKind::kInterrupted);
}

TEST(Openers, OnlyPlainFilesAreLookedAt) {
  const TemporaryFolder folder;
  write_file(folder.file("f"), "four");
  const auto look = look_at(folder.file("f"));
  ASSERT_TRUE(look);
  EXPECT_EQ(look->bytes, 4);
  EXPECT_EQ(look_at(folder.file("f")), look);
  // Rewritten at another time, with the same number of bytes.
  struct timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder.file("f").c_str(), times, 0), 0);
  EXPECT_NE(look_at(folder.file("f")), look);
  EXPECT_EQ(look_at(folder.file("f"))->changed, 1'000'000'000'000'000'007);
  EXPECT_FALSE(look_at(folder.file("absent")));
  EXPECT_FALSE(look_at(folder.file(".")));
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(look_at(folder.file("pipe")));
}

}  // namespace
}  // namespace kvplan::io
