#include "simulator/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/base/option_error.h"

namespace kvplan::cli {

Option* Option::required(bool required) {
  option_->required(required);
  return this;
}

Option* Option::default_str(const std::string& shown) {
  option_->default_str(shown);
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::expected(int values) {
  option_->expected(values);
  return this;
}

Option* Option::repeatable() {
  option_->take_all();
  return this;
}

Option* Option::one_value_each() {
  option_->allow_extra_args(false);
  return this;
}

Option* Option::one_of(std::vector<std::string> values) {
  option_->check(CLI::IsMember(std::move(values)));
  return this;
}

Option* Option::not_empty() {
  option_->check([](const std::string& text) {
    return text.empty() ? std::string("expected a value, found nothing") : std::string();
  });
  return this;
}

Option* Option::needs(const Option* other) {
  option_->needs(other->option_);
  return this;
}

Option* Option::excludes(const Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::read_at_once() {
  option_->trigger_on_parse();
  return this;
}

std::string Option::name() const {
  return option_->get_name();
}

std::vector<std::string> Option::names() const {
  std::vector<std::string> out;
  for (const std::string& name : option_->get_lnames()) out.push_back("--" + name);
  for (const std::string& name : option_->get_snames()) out.push_back("-" + name);
  return out;
}

int Option::least_values() const {
  return option_->get_items_expected_min();
}

int Option::most_values() const {
  return option_->get_items_expected_max();
}

bool Option::positional() const {
  return !option_->nonpositional();
}

bool Option::takes_value() const {
  return option_->get_expected_min() > 0;
}

bool Option::takes_text() const {
  return option_->get_type_name().starts_with("TEXT");
}

bool Option::given() const {
  return option_->count() > 0;
}

std::vector<std::string> Option::values() const {
  return option_->results();
}

Option* Command::keep(CLI::Option* option) {
  return &options_.emplace_back(*option);
}

Option* Command::add_option(const std::string& names, std::string& to, const std::string& help) {
  return keep(app_->add_option(names, to, help));
}

Option* Command::add_option(const std::string& names, std::vector<std::string>& to, const std::string& help) {
  return keep(app_->add_option(names, to, help));
}

Option* Command::add_function(const std::string& names, std::function<Status(const std::string&)> read,
                              const std::string& help) {
  const std::string last_name = names.substr(names.rfind(',') + 1);
  return keep(app_->add_option_function<std::string>(
      names,
      [last_name, read = std::move(read)](const std::string& text) {
        const Status good = read(text);
        if (!good.ok()) throw CLI::ValidationError(last_name, good.error().to_string());
      },
      help));
}

Option* Command::add_flag(const std::string& names, bool& to, const std::string& help) {
  return keep(app_->add_flag(names, to, help));
}

Option* Command::add_flag_function(const std::string& names, std::function<void()> give,
                                   const std::string& help) {
  return keep(app_->add_flag_function(
      names, [give = std::move(give)](std::int64_t) { give(); }, help));
}

Option* Command::add_list_function(const std::string& names,
                                   std::function<void(const std::vector<std::string>&)> read,
                                   const std::string& help) {
  return keep(app_->add_option_function<std::vector<std::string>>(names, std::move(read), help))
      ->repeatable()
      ->one_value_each();
}

Command* Command::add_subcommand(const std::string& name, const std::string& help) {
  return commands_.emplace_back(std::make_unique<Command>(*app_->add_subcommand(name, help))).get();
}

void Command::require_subcommand() {
  app_->require_subcommand(1);
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::callback(std::function<void()> body) {
  app_->callback(std::move(body));
}

std::string Command::name() const {
  return app_->get_name();
}

std::vector<Option*> Command::options() {
  std::vector<Option*> out;
  for (Option& option : options_) out.push_back(&option);
  return out;
}

std::vector<const Option*> Command::options() const {
  std::vector<const Option*> out;
  for (const Option& option : options_) out.push_back(&option);
  return out;
}

const Option& Command::option(const std::string& name) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const Option& option) { return option.name() == name; });
  KVPLAN_CHECK(found != options_.end());
  return *found;
}

CommandLine::CommandLine(const std::string& name, const std::string& about, const std::string& version)
    : app_(std::make_unique<CLI::App>(about, name)), program_(std::make_unique<Command>(*app_)) {
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Result<std::string> CommandLine::run(std::vector<std::string> last_first) {
  try {
    app_->parse(std::move(last_first));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return bad_input(option_error(error.what()));
    std::ostringstream text;  // output of --help or --version
    app_->exit(error, text, text);
    return text.str();
  }
  return std::string();
}

}  // namespace kvplan::cli
