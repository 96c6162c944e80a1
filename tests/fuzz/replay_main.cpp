// The part of a fuzz program that does not need libFuzzer: runs the entry on its seeds and corpus files, each unchanged
// and with seeded mutations. If the entry crashes, hangs (60 s for one input) or needs more than the allowed memory,
// the input is left in the working directory, and the command line that repeats it is printed.
//   NAME [--mutations N] [--seed S] [--memory-mb M] [--write-corpus DIR] [FILE|FOLDER...]
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/sanitized.h"

namespace fs = std::filesystem;

namespace {

struct Item {
  std::string name, bytes;
};
struct Options {
  std::uint64_t mutations = 200, seed = 1;
  rlim_t memory_mb = 1024;
  std::string corpus_out;
  std::vector<std::string> inputs;
};

// Data that the signal handler needs, and may use.
const std::string* current_input = nullptr;
std::array<char, 4096> current_file{};
constexpr unsigned kSecondsPerInput = 60;

void say(const char* text) {
  [[maybe_unused]] const auto written = ::write(2, text, std::strlen(text));
}

extern "C" void leave_input(int signal) {
  say(signal == SIGALRM ? "\nfuzz: one input took too long; it is in "
                        : "\nfuzz: the entry failed; its input is in ");
  say(current_file.data());
  say(", and NAME --mutations 0 FILE repeats it\n");
  const int file = ::open(current_file.data(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && current_input != nullptr) {
    [[maybe_unused]] const auto written = ::write(file, current_input->data(), current_input->size());
    ::close(file);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Sanitizers print their report, then abort; so a crash is reported by them first.
#if KVPLAN_SHADOW_MEMORY
constexpr int kSignals[] = {SIGABRT, SIGALRM};
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1";
}
extern "C" const char* __ubsan_default_options() {
  return "abort_on_error=1:print_stacktrace=1";
}
#else
constexpr int kSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
#endif

void run(const std::string& input, const std::string& file) {
  current_file.fill('\0');
  file.copy(current_file.data(), current_file.size() - 1);
  current_input = &input;
  ::alarm(kSecondsPerInput);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  ::alarm(0);
}

std::vector<Item> starting_points(const Options& options) {
  std::vector<Item> items;
  if (fuzz_seeds) {
    for (auto& bytes : fuzz_seeds())
      items.push_back({"seed" + std::to_string(items.size()), std::move(bytes)});
  }
  std::vector<fs::path> files;
  for (const auto& input : options.inputs) {
    if (!fs::is_directory(input)) {
      files.emplace_back(input);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(input)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "fuzz: cannot read %s\n", path.c_str());
      std::exit(2);
    }
    items.push_back({path.filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  return items;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag.substr(0, 2) != "--") {
      options.inputs.emplace_back(flag);
      continue;
    }
    const char* value = ++i < argc ? argv[i] : "";
    if (flag == "--mutations") {
      options.mutations = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--memory-mb") {
      options.memory_mb = std::strtoull(value, nullptr, 10);
    } else if (flag == "--write-corpus") {
      options.corpus_out = value;
    } else {
      std::fprintf(stderr, "fuzz: unknown option %s\n", argv[i - 1]);
      std::exit(2);
    }
  }
  return options;
}

void bound_memory([[maybe_unused]] rlim_t megabytes) {
#if !KVPLAN_SHADOW_MEMORY
  const rlimit limit{megabytes << 20, megabytes << 20};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<Item> items = starting_points(options);
  if (!options.corpus_out.empty()) {
    fs::create_directories(options.corpus_out);
    for (const auto& item : items)
      std::ofstream(fs::path(options.corpus_out) / item.name, std::ios::binary) << item.bytes;
    return 0;
  }
  if (items.empty()) {
    std::fprintf(stderr, "fuzz: neither seeds nor corpus files: nothing would be tried\n");
    return 2;
  }
  bound_memory(options.memory_mb);
  for (const int signal : kSignals) std::signal(signal, leave_input);
  const std::string program = fs::path(argv[0]).filename();
  for (std::size_t i = 0; i < items.size(); ++i) {
    run(items[i].bytes, program + "." + items[i].name + ".failed");
    for (std::uint64_t n = 0; n < options.mutations; ++n) {
      // Each item has its own random stream, so adding a corpus file does not change the mutations of others, except
      // for spliced parts.
      kvplan::Random random(options.seed, items[i].name + "/" + std::to_string(n));
      const auto& other = items[random.below(items.size())].bytes;
      run(kvplan::mutate(items[i].bytes, other, random),
          program + "." + items[i].name + "." + std::to_string(n) + ".failed");
    }
  }
  std::printf("%s: %zu starting points, %llu mutations of each, seed %llu\n", program.c_str(), items.size(),
              static_cast<unsigned long long>(options.mutations),
              static_cast<unsigned long long>(options.seed));
}
