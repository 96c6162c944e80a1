// Files appear complete or not at all, however the process ends.
#include "simulator/base/file_output.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/support/files.h"

namespace kvplan {
namespace {

TEST(FileOutput, AppearsWholeOnCommitAndNotBefore) {
  for (const Temporary kind : {Temporary::kUnnamed, Temporary::kNamed}) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("out.txt");
    test::write_file(path, "old");
    {
      const auto output = std::move(create_file_output(path, kind)).value();
      ASSERT_TRUE(output->write("new").ok());
      EXPECT_EQ(test::read_file(path), "old");
    }
    EXPECT_EQ(folder.listing(), "out.txt");  // not committed: no new file remains, and the old one stays
    EXPECT_EQ(test::read_file(path), "old");
    for (const char* name : {"out.txt", "new.txt"}) {
      const auto output = std::move(create_file_output(folder.file(name), kind)).value();
      ASSERT_TRUE(output->write(std::string(1 << 20, 'n')).ok());
      ASSERT_TRUE(output->commit().ok());
      EXPECT_EQ(test::read_file(folder.file(name)), std::string(1 << 20, 'n'));
    }
    EXPECT_EQ(folder.listing(), "new.txt out.txt");
    // A new file has the mode that the mask leaves, however it was created.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    struct stat status {};
    ASSERT_EQ(::stat(folder.file("new.txt").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0666 & ~mask);
  }
}

/// The files in the folder after a process was killed while it wrote `name` there.
std::string left_by_a_kill(const test::TemporaryFolder& folder, const char* name, Temporary kind) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto output = std::move(create_file_output(folder.file(name), kind)).value();
    const bool written = output->write(std::string(1 << 20, 'x')).ok();
    if (written) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  return folder.listing();
}

TEST(FileOutput, AKilledProcessLeavesNothing) {
  const test::TemporaryFolder folder;
  {
    const auto output = std::move(create_file_output(folder.file("probe"))).value();
    if (!folder.listing().empty()) GTEST_SKIP() << "no files without a name on this file system";
  }
  EXPECT_EQ(left_by_a_kill(folder, "new.txt", Temporary::kUnnamed), "");
  test::write_file(folder.file("old.txt"), "old");
  EXPECT_EQ(left_by_a_kill(folder, "old.txt", Temporary::kUnnamed), "old.txt");
  EXPECT_EQ(test::read_file(folder.file("old.txt")), "old");
  EXPECT_NE(left_by_a_kill(folder, "old.txt", Temporary::kNamed), "old.txt")
      << "the way that is fallen back to";
  EXPECT_EQ(test::read_file(folder.file("old.txt")), "old");
}

TEST(FileOutput, OlderFilesOfTheNameForAMomentAreLeftAlone) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("out.txt");
  const std::string taken = path + "." + std::to_string(::getpid()) + "-0";
  test::write_file(path, "old");
  test::write_file(taken, "of another program");
  const auto output = std::move(create_file_output(path)).value();
  ASSERT_TRUE(output->write("new").ok() && output->commit().ok());
  EXPECT_EQ(test::read_file(path), "new");
  EXPECT_EQ(test::read_file(taken), "of another program");
  EXPECT_EQ(folder.listing(), "out.txt " + taken.substr(folder.path().size() + 1));
}

}  // namespace
}  // namespace kvplan
