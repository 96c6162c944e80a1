// `cmake --install` into a folder that is then moved: which files are there, and that the programs work from there.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/support/files.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;
using test::read_file;

/// Exit status of a shell command.
int shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::set<std::string> files_below(const std::string& folder, const std::string& under) {
  std::set<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) out.insert(under + fs::relative(entry.path(), folder).string());
  return out;
}

class Install : public ::testing::Test {
 protected:
  // Done once, because it copies every program.
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    const std::string first = folder_->file("first");
    ASSERT_EQ(shell("env -u DESTDIR '" KVPLAN_CMAKE "' --install '" KVPLAN_BUILD_DIR "' --prefix '" + first +
                    "' > '" + folder_->file("log") + "' 2>&1"),
              0)
        << read_file(folder_->file("log"));
    fs::create_directory(folder_->file("any place"));
    fs::rename(first, prefix());
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string prefix() { return folder_->file("any place/moved"); }
  /// The output of a command that runs in a folder; "failed: ..." if its exit status is not 0.
  static std::string printed(const std::string& in, const std::string& command) {
    const std::string out = folder_->file("out");
    const std::string err = folder_->file("err");
    const int status = shell("cd '" + in + "' && { " + command + "; } > '" + out + "' 2> '" + err + "'");
    return status == 0 ? read_file(out) : "failed: " + std::to_string(status) + ' ' + read_file(err);
  }

 private:
  static inline test::TemporaryFolder* folder_ = nullptr;
};

TEST_F(Install, PutsProgramsExamplesSampleAndLicence) {
  std::set<std::string> expected{"bin/kvplan", "bin/kvplan-validate", "share/doc/kvplan/LICENSE"};
  expected.merge(files_below(KVPLAN_SOURCE_DIR "/simulator/examples", "share/kvplan/examples/"));
  expected.merge(files_below(KVPLAN_SOURCE_DIR "/traces/samples", "share/kvplan/samples/"));
  if (KVPLAN_WITH_GUI)
    expected.merge(std::set<std::string>{"bin/kvplan-gui", "share/applications/kvplan-gui.desktop",
                                         "share/icons/hicolor/scalable/apps/kvplan-gui.svg"});
  EXPECT_EQ(files_below(prefix(), ""), expected);
}

TEST_F(Install, TheSampleRunsAsItDoesInTheTree) {
  const std::string arguments = " run samples/chat.kvt --set memory.pool_tokens=40000";
  const std::string here = printed(prefix() + "/share/kvplan", "../../bin/kvplan" + arguments);
  EXPECT_NE(here.find("1,500 requests on llama-3-8b"), std::string::npos) << here;
  EXPECT_NE(here.find("74 preemptions"), std::string::npos) << here;
  EXPECT_EQ(here, printed(KVPLAN_SOURCE_DIR "/traces", "'" KVPLAN_PROGRAM_DIR "/kvplan'" + arguments));
}

TEST_F(Install, AnExampleFindsTheFilesBesideIt) {
  const std::string run =
      "'" + prefix() + "/bin/kvplan' run '" + prefix() + "/share/kvplan/examples/replay/h2o.json'";
  const std::string out = printed("/", run);
  EXPECT_NE(out.find("40 requests"), std::string::npos) << out;
}

TEST_F(Install, ALogIsReplayedByTheOtherProgram) {
  const std::string bin = "'" + prefix() + "/bin/";
  const std::string log = "'" + prefix() + "/log.kve'";
  const std::string out =
      printed("/", bin + "kvplan' run '" + prefix() + "/share/kvplan/examples/replay/h2o.json' --events " +
                       log + " && " + bin + "kvplan-validate' replay " + log + " --backend host");
  fs::remove(prefix() + "/log.kve");
  EXPECT_TRUE(std::regex_search(out, std::regex("\nverdict +equal\n"))) << out;
}

TEST_F(Install, TheDesktopProgramStarts) {
  if (!KVPLAN_WITH_GUI) GTEST_SKIP() << "kvplan-gui is not built here";
  const std::string picture = prefix() + "/picture.png";
  EXPECT_EQ(printed("/", "env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM '" + prefix() +
                             "/bin/kvplan-gui' --screenshot timeline '" + prefix() +
                             "/share/kvplan/samples/chat.kvt' -o '" + picture + "'"),
            "");
  EXPECT_GT(fs::file_size(picture), 10'000U);
  fs::remove(picture);
  const std::string entry = read_file(prefix() + "/share/applications/kvplan-gui.desktop");
  EXPECT_NE(entry.find("\nExec=kvplan-gui %F\n"), std::string::npos);
  EXPECT_NE(entry.find("\nIcon=kvplan-gui\n"), std::string::npos);
}

}  // namespace
}  // namespace kvplan
