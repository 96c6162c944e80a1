// Which folders may include and link which other folders.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {
namespace {

/// A folder and the folders that it may include in addition to itself. A new folder is a new line. The longest match
/// decides; tests may include everything.
struct Layer {
  std::string_view folder;  ///< or a single file
  std::vector<std::string_view> allowed;
};

/// The only folder of the validator that sees the simulator, too.
constexpr std::string_view kBothSides = "validator/run";

const std::vector<Layer>& layers() {
  static const std::vector<Layer> kLayers = [] {
    std::vector<std::string_view> below;
    std::vector<Layer> table;
    // One level: its folders do not include each other; later levels may include all of them.
    const auto level = [&](const std::vector<std::string_view>& folders) {
      for (const auto folder : folders) table.push_back({folder, below});
      below.insert(below.end(), folders.begin(), folders.end());
    };
    level({"simulator/base"});
    level({"simulator/courses"});
    // The output of servers, as text only.
    table.push_back({"simulator/startup", {"simulator/base"}});
    level({"traces/record"});
    level({"simulator/model"});
    table.push_back({"simulator/replacement", {"simulator/base", "traces/record"}});
    below.emplace_back("simulator/replacement");
    level({"simulator/core"});
    table.push_back({"simulator/prefix", {"simulator/base", "simulator/core"}});
    below.emplace_back("simulator/prefix");
    level({"simulator/attention", "simulator/latency", "simulator/memory", "simulator/observe",
           "simulator/routing", "simulator/workload"});
    table.push_back({"simulator/formats", {"simulator/base", "simulator/core", "simulator/attention"}});
    below.emplace_back("simulator/formats");
    table.push_back({"simulator/readers",
                     {"simulator/base", "simulator/core", "simulator/attention", "simulator/formats"}});
    below.emplace_back("simulator/readers");
    // Code that only fast replicas include; naive ones, with which they are compared, do not (check_naive_is_apart).
    table.push_back({"simulator/scheduling/fast",
                     {"simulator/base", "simulator/courses", "simulator/model", "simulator/core"}});
    // The families of engines' parts. Its engine.h declares the parts; an engine's folder sees nothing else of it.
    table.push_back({"simulator/scheduling",
                     {"simulator/base", "simulator/core", "simulator/model", "simulator/memory",
                      "simulator/io/log/rules.h"}});
    // Code that replays of several engines share, and the options of `kvplan cache` for all of them.
    table.push_back({"simulator/scheduling/replay",
                     {"simulator/base", "simulator/core", "traces/record",
                      "simulator/scheduling/sglang/params.h", "simulator/scheduling/vllm/params.h"}});
    // An engine's replicas include the memory that they were written for; its engine.cpp chooses the replica of a run.
    const auto engine = [&](const char* folder, std::vector<std::string_view> sees) {
      static std::deque<std::string> names;
      const std::string_view own = names.emplace_back(std::string("simulator/scheduling/") + folder);
      const std::string_view joins = names.emplace_back(std::string(own) + "/engine.cpp");
      const std::string_view replay = names.emplace_back(std::string(own) + "/replay");
      sees.insert(sees.end(),
                  {"simulator/base", "simulator/core", "simulator/model", "simulator/scheduling/engine.h",
                   "simulator/scheduling/server_flags.h", "simulator/scheduling/fast"});
      table.push_back({own, sees});
      sees.insert(sees.end(), {own, "simulator/memory", "simulator/prefix", "simulator/scheduling/replay"});
      table.push_back({joins, sees});
      sees.insert(sees.end(), {"simulator/workload", "traces/record"});
      table.push_back({replay, sees});
    };
    engine("sglang", {"simulator/prefix"});
    engine("trtllm", {});
    engine("vllm", {"simulator/courses"});
    // Parts of step times: the only folder above scenarios that may use kernels and links.
    table.push_back(
        {"simulator/latency/parts",
         {"simulator/base", "simulator/model", "simulator/core", "simulator/kernels", "simulator/topology"}});
    table.push_back({"simulator/topology", {"simulator/base", "simulator/model"}});
    below.emplace_back("simulator/scheduling");
    // Scenarios get models; rooms above them get shapes.
    table.push_back({"simulator/modelfile", {"simulator/base", "simulator/model"}});
    below.emplace_back("simulator/modelfile");
    table.push_back({"simulator/kernels", {"simulator/base", "simulator/model"}});
    below.emplace_back("simulator/kernels");
    level({"simulator/scenario"});
    for (const auto* folder : {"simulator/deployment", "simulator/retention", "simulator/run",
                               "simulator/results", "simulator/study"}) {
      level({folder});
    }
    table.push_back({"simulator/report", below});
    below.emplace_back("simulator/report");
    table.push_back({"simulator/sweep", below});
    // A plan's cases are rows of a sweep; it cuts traces into parts of the day.
    std::vector<std::string_view> of_planner = below;
    of_planner.insert(of_planner.end(), {"simulator/sweep", "traces/edit"});
    table.push_back({"simulator/planner", of_planner});
    table.push_back({"simulator/launch", below});
    std::vector<std::string_view> of_measured = below;
    of_measured.emplace_back("simulator/startup");
    table.push_back({"simulator/measured", of_measured});
    table.push_back({"simulator/frontier",
                     {"simulator/base", "simulator/attention", "simulator/formats", "simulator/report"}});
    table.push_back({"simulator/survey",
                     {"simulator/base", "simulator/attention", "simulator/formats", "simulator/report"}});
    below.pop_back();
    // Protobuf and files begin here; traces include nothing of the simulator but `base` and `frame`.
    table.push_back({"simulator/frame", {"simulator/base"}});
    table.push_back({"simulator/picture", {"simulator/base"}});
    table.push_back({"traces/io", {"simulator/base", "simulator/frame", "traces/record"}});
    table.push_back({"traces/import", {"simulator/base", "traces/record", "traces/io"}});
    table.push_back({"traces/edit", {"simulator/base", "traces/record"}});
    table.push_back({"traces/synth", {"simulator/base", "traces/record", "traces/io", "traces/import"}});
    below.insert(below.end(), {"simulator/frame", "traces/io", "simulator/startup"});
    level({"simulator/io"});
    below.insert(below.end(),
                 {"simulator/formats", "simulator/frontier", "simulator/launch", "simulator/measured",
                  "simulator/picture", "simulator/planner", "simulator/report", "simulator/survey",
                  "simulator/sweep", "traces/import", "traces/edit", "traces/synth"});
    table.push_back({"simulator/cli", below});
    table.push_back({"simulator/bench", below});
    for (const auto* folder : {"gui/viewmodel", "gui/worker", "gui/views", "gui/view", "gui/app"})
      level({folder});
    // The validator checks the simulator's bytes, so it shares no code with what it checks, except for the log's reader
    // (and the frames below it).
    table.push_back({"simulator/io/log", {"simulator/base", "simulator/frame"}});
    table.push_back({"validator", {"simulator/base", "simulator/io/log"}});
    // Except for what simulates and predicts, so that both sides can be compared: nothing of the rest sees it but the
    // program, through a header that names none of it.
    below.insert(below.end(), {"simulator/io", "validator"});
    table.push_back({kBothSides, below});
    return table;
  }();
  return kLayers;
}

bool within(std::string_view path, std::string_view prefix) {
  if (path.substr(0, prefix.size()) != prefix) return false;
  return path.size() == prefix.size() || path[prefix.size()] == '/';
}

const Layer* layer_of(std::string_view path) {
  const Layer* best = nullptr;
  for (const auto& layer : layers()) {
    if (within(path, layer.folder) && (best == nullptr || layer.folder.size() > best->folder.size()))
      best = &layer;
  }
  return best;
}

bool allows(const Layer& layer, std::string_view path) {
  const auto holds = [&](std::string_view folder) { return within(path, folder); };
  return within(path, layer.folder) || std::any_of(layer.allowed.begin(), layer.allowed.end(), holds);
}

struct Include {
  int line;
  std::string path;
};

/// The project's own headers that a file includes. check_libraries handles generated ones (NAME.pb.h, NAME.moc).
std::vector<Include> own_includes(const File& file) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::vector<Include> found;
  each_line(without_comments(file.text, false), [&](int number, std::string_view line) {
    std::match_results<std::string_view::const_iterator> match;
    if (std::regex_search(line.begin(), line.end(), match, kInclude)) found.push_back({number, match[1]});
  });
  std::erase_if(found, [](const Include& include) {
    return include.path.ends_with(".pb.h") || include.path.ends_with(".moc");
  });
  return found;
}

bool in_tests(std::string_view path) {
  return path.starts_with("tests/");
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Checks that files for which `of` is true include, also through other headers, only files that `allowed` allows.
template <class Of, class Allowed>
Findings check_reached(const Tree& tree, Of of, Allowed allowed) {
  std::map<std::string_view, const File*> files;
  for (const auto& file : tree) files[file.path] = &file;
  Findings findings;
  for (const auto& file : tree) {
    if (!is_cpp(file.path) || !of(file.path)) continue;
    std::set<std::string> seen;
    std::deque<std::string> next{file.path};
    while (!next.empty()) {
      const auto at = files.find(next.front());
      next.pop_front();
      if (at == files.end()) continue;
      for (const auto& include : own_includes(*at->second)) {
        if (!seen.insert(include.path).second) continue;
        next.push_back(include.path);
        if (!allowed(include.path)) {
          findings.push_back({file.path, 0, "reaches " + include.path + " through " + at->second->path});
        }
      }
    }
  }
  return findings;
}

}  // namespace

Findings check_layers(const Tree& tree) {
  std::set<std::string_view> paths;
  for (const auto& file : tree) paths.insert(file.path);
  Findings findings;
  for (const auto& file : tree) {
    if (!is_cpp(file.path)) continue;
    const Layer* layer = layer_of(file.path);
    if (layer == nullptr && !in_tests(file.path)) {
      findings.push_back(
          {file.path, 0, "its folder has no line in the layer table of tests/tidy/rules_layers.cpp"});
      continue;
    }
    for (const auto& [line, path] : own_includes(file)) {
      if (!paths.contains(path)) {
        findings.push_back({file.path, line, "\"" + path + "\" is no path from the root to a header"});
      } else if (layer != nullptr && !allows(*layer, path)) {
        findings.push_back({file.path, line, std::string(layer->folder) + " may not include " + path});
      }
    }
  }
  return findings;
}

Findings check_links(const Tree& tree) {
  struct Target {
    const File* file;
    int line;
    std::string folder, links;
  };
  static const std::regex kTarget(R"re(kvplan_(?:library|program)\(\s*([\w-]+)\s+([\w./-]+)\s*([^)]*)\))re");
  std::map<std::string, Target> targets;
  for (const auto& file : tree) {
    if (!file.path.ends_with("CMakeLists.txt") || in_tests(file.path)) continue;
    for (std::sregex_iterator match(file.text.begin(), file.text.end(), kTarget), end; match != end;
         ++match) {
      const auto before = file.text.begin() + match->position();
      targets[(*match)[1]] = {&file, 1 + static_cast<int>(std::count(file.text.begin(), before, '\n')),
                              (*match)[2], (*match)[3]};
    }
  }
  Findings findings;
  static const std::regex kWord(R"re([\w-]+)re");
  // The folders that a file of the target may include: it may have lines of its own, and folders below it.
  const auto links = [](std::string_view folder, std::string_view path) {
    return std::any_of(layers().begin(), layers().end(), [&](const Layer& layer) {
      const bool of_folder = within(layer.folder, folder) && layer.folder != kBothSides;
      return (of_folder || &layer == layer_of(folder)) && allows(layer, path);
    });
  };
  for (const auto& [name, target] : targets) {
    const Layer* layer = layer_of(target.folder);
    for (std::sregex_iterator word(target.links.begin(), target.links.end(), kWord), end; word != end;
         ++word) {
      const auto linked = targets.find(word->str());
      if (layer == nullptr || linked == targets.end() || links(target.folder, linked->second.folder))
        continue;
      findings.push_back(
          {target.file->path, target.line, target.folder + " may not link " + linked->second.folder});
    }
  }
  return findings;
}

Findings check_replay_is_apart(const Tree& tree) {
  const Layer* layer = layer_of("validator/replay.cpp");
  return check_reached(
      tree, [](std::string_view path) { return within(path, "validator") && !within(path, kBothSides); },
      [&](std::string_view path) { return allows(*layer, path); });
}

Findings check_naive_is_apart(const Tree& tree) {
  const auto is_naive = [](std::string_view path) {
    return within(path, "simulator/scheduling") && name_of(path).starts_with("naive_");
  };
  return check_reached(tree, is_naive, [&](std::string_view path) {
    if (within(path, "simulator/scheduling"))
      return is_naive(path) || name_of(path) == "params.h" || name_of(path) == "replicas.h";
    return !within(path, "simulator/prefix") && !within(path, "simulator/memory");
  });
}

}  // namespace kvplan::tidy
