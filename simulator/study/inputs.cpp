#include "simulator/study/inputs.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "simulator/retention/run_courses.h"

namespace kvplan::runs {

/// The files met so far, in order, and which of them are equal.
class Inputs::Files {
 public:
  explicit Files(const InputReaders& readers) : readers_(readers) {}

  void meet(const std::string& path) {
    const std::lock_guard lock(mutex_);
    place_of(path);
  }

  /// The first known file with the same content; the file itself if there is none. Errors: interrupted.
  Result<std::string> first_equal(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const std::optional<std::size_t> place = place_of(path);
    if (!place) return path;
    File& file = met_[*place];
    for (std::size_t i = 0; i < *place && !file.first; ++i) {
      KVPLAN_TRY(const bool equal, are_equal(met_[i], file));
      if (equal) file.first = i;
    }
    if (!file.first) file.first = place;
    return met_[*file.first].path;
  }

  /// Forgets all files except those that are among `files` and unchanged.
  std::vector<std::string> keep_only(const std::vector<std::string>& files) {
    const std::lock_guard lock(mutex_);
    std::erase_if(met_, [&](const File& file) {
      return std::find(files.begin(), files.end(), file.path) == files.end() ||
             readers_.look(file.path) != file.look;
    });
    places_.clear();
    std::vector<std::string> kept;
    for (File& file : met_) {
      file.first.reset();
      places_.emplace(file.path, kept.size());
      kept.push_back(file.path);
    }
    return kept;
  }

 private:
  struct File {
    std::string path;
    FileLook look;
    std::optional<std::size_t> first;  // position of the first equal file
    std::optional<Result<std::string>> digest;
  };

  /// The position of the file in met_; nothing if it cannot be looked at, so that its name alone identifies it.
  std::optional<std::size_t> place_of(const std::string& path) {
    if (const auto found = places_.find(path); found != places_.end()) return found->second;
    const std::optional<FileLook> look = readers_.look ? readers_.look(path) : std::nullopt;
    if (!look) return std::nullopt;
    met_.push_back({path, *look, {}, {}});
    return places_.emplace(path, met_.size() - 1).first->second;
  }

  Result<bool> are_equal(File& a, File& b) {
    if (a.look.bytes != b.look.bytes || !readers_.digest) return false;
    for (File* file : {&a, &b}) {
      if (!file->digest) file->digest = readers_.digest(file->path);
      if (file->digest->ok()) continue;
      const Error& error = file->digest->error();
      if (error.kind == ErrorKind::kInterrupted) return error;
      return false;
    }
    return a.digest->value() == b.digest->value();
  }

  const InputReaders& readers_;
  std::mutex mutex_;
  std::vector<File> met_;
  std::map<std::string, std::size_t> places_;  // positions in met_
};

namespace {

/// Values that were read from files of one kind, by file name; `how` contains all else that decides about the value.
template <class Value>
class ReadOnce {
 public:
  template <class Open>
  Result<Value> get(const std::string& path, const std::string& how, const Open& open) {
    // The lock is held while a file is read: threads that want this file have to wait anyway, and few want another one.
    const std::lock_guard lock(mutex_);
    auto found = read_.find({path, how});
    if (found == read_.end()) found = read_.emplace(std::pair(path, how), open()).first;
    return found->second;
  }
  void keep_only(const std::vector<std::string>& paths) {
    std::erase_if(read_, [&](const auto& each) {
      return !each.second.ok() || std::find(paths.begin(), paths.end(), each.first.first) == paths.end();
    });
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Result<Value>> read_;
};

/// The options of reading a trace that change the result, as one text.
std::string how_read(const traces::ImportOptions& import) {
  return import.format + '\n' + std::to_string(import.block_tokens) + '\n' + import.map;
}

}  // namespace

struct Inputs::Values {
  ReadOnce<TracePtr> traces;
  ReadOnce<std::shared_ptr<const attention::Recording>> recordings;
  ReadOnce<model::ModelShape> models;
  ReadOnce<MeasuredSteps> steps;
  ReadOnce<MeasuredKernels> kernels;
  ReadOnce<PriceList> prices;
  ReadOnce<attention::HeadTable> scores;
  ReadOnce<std::shared_ptr<const attention::RecordedLayers>> sets;
  ReadOnce<std::shared_ptr<const formats::SideData>> sides;
  std::shared_ptr<attention::TrajectoryStore> trajectories{
      std::make_shared<attention::TrajectoryStore>(kTrajectoryBytes)};

  /// The value of a file, or of an equal file that was read before: `open(path)`.
  template <class Value, class Open>
  static Result<Value> get(Files& files, ReadOnce<Value>& once, const std::string& path,
                           const std::string& how, const Open& open) {
    KVPLAN_TRY(const std::string first, files.first_equal(path));
    Result<Value> value = once.get(first, how, [&]() -> Result<Value> { return open(first); });
    if (value.ok() || first == path) return value;
    // The error should name the requested file.
    return once.get(path, how, [&]() -> Result<Value> { return open(path); });
  }
};

Inputs::Inputs(InputReaders readers)
    : readers_(std::move(readers)),
      files_(std::make_unique<Files>(readers_)),
      values_(std::make_unique<Values>()) {}

Inputs::~Inputs() = default;

void Inputs::meet(const std::vector<std::string>& files) {
  for (const std::string& file : files) files_->meet(file);
}

Result<TracePtr> Inputs::trace(const Scenario& scenario) {
  const auto read = [&](const std::string& path) -> Result<TracePtr> {
    Scenario at = scenario;
    at.trace = path;
    KVPLAN_TRY(traces::Trace trace, readers_.read_trace(at));
    return TracePtr(std::make_shared<const traces::Trace>(std::move(trace)));
  };
  return Values::get(*files_, values_->traces, scenario.trace, how_read(scenario.import), read);
}

Openers Inputs::openers() {
  Openers out;
  if (readers_.open_recording)
    out.open_recording = [this](const std::string& path) {
      return Values::get(*files_, values_->recordings, path, {}, readers_.open_recording);
    };
  if (readers_.open_model)
    out.open_model = [this](const std::string& path) {
      return values_->models.get(path, {}, [&] { return readers_.open_model(path); });
    };
  if (readers_.open_kernels)
    out.open_kernels = [this](const std::string& path) {
      return Values::get(*files_, values_->kernels, path, {}, readers_.open_kernels);
    };
  if (readers_.open_steps)
    out.open_steps = [this](const std::string& path, std::string_view model) {
      return Values::get(*files_, values_->steps, path, std::string(model),
                         [&](const std::string& file) { return readers_.open_steps(file, model); });
    };
  if (readers_.open_prices)
    out.open_prices = [this](const std::string& path) {
      return Values::get(*files_, values_->prices, path, {}, readers_.open_prices);
    };
  if (readers_.open_scores)
    out.open_scores = [this](const std::string& file_or_text) {
      return Values::get(*files_, values_->scores, file_or_text, {}, readers_.open_scores);
    };
  if (readers_.open_sets)
    out.open_sets = [this](const std::string& path) {
      return Values::get(*files_, values_->sets, path, {}, readers_.open_sets);
    };
  if (readers_.open_side)
    out.open_side = [this](const std::string& path) {
      return Values::get(*files_, values_->sides, path, {}, readers_.open_side);
    };
  out.trajectories = values_->trajectories;
  return out;
}

void Inputs::keep_only(const std::vector<std::string>& files) {
  const std::vector<std::string> kept = files_->keep_only(files);
  values_->traces.keep_only(kept);
  values_->recordings.keep_only(kept);
  values_->models.keep_only(kept);
  values_->steps.keep_only(kept);
  values_->kernels.keep_only(kept);
  values_->prices.keep_only(kept);
  values_->scores.keep_only(kept);
  values_->sets.keep_only(kept);
  values_->sides.keep_only(kept);
  values_->trajectories->forget_left_recordings();
}

}  // namespace kvplan::runs
