// Fields of all files compared with the list of released ones: numbers, names and types never change.
//
// The schemas are read as text, because most of them are compiled without descriptors; where there are
// descriptors, they say whether the text was read rightly.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "proto/report.pb.h"
#include "tests/unit/traces/support.h"

namespace kvplan::io {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

/// The numbered items of a schema: "MESSAGE NUMBER" -> "NAME TYPE", "ENUM NUMBER" -> "VALUE".
struct Schema {
  std::map<std::string, std::string> fields;
  std::set<std::string> reserved;  ///< "MESSAGE NUMBER" and "MESSAGE NAME"
  std::string unread;              ///< lines that have none of the forms below
};

/// Reads one statement per line, the form of kvplan's schemas: no nested messages, no options of fields.
void read_schema(const std::string& text, Schema& schema) {
  static const std::regex kBegin(R"((?:message|enum) (\w+) \{)");
  static const std::regex kField(R"(((?:repeated |optional )?\w+) (\w+) = (\d+);)");
  static const std::regex kValue(R"((\w+) = (\d+);)");
  static const std::regex kReserved(R"re(reserved (\d+|"\w+")((?:, (?:\d+|"\w+"))*);)re");
  static const std::regex kOther(R"((syntax|package|import|option) .*;|oneof \w+ \{|\}|)");
  std::istringstream lines(text);
  std::string line, message;
  while (std::getline(lines, line)) {
    line.resize(std::min(line.size(), line.find("//")));
    line.erase(line.find_last_not_of(' ') + 1);
    line.erase(0, std::min(line.size(), line.find_first_not_of(' ')));
    std::smatch found;
    if (std::regex_match(line, kOther)) continue;
    if (std::regex_match(line, found, kBegin)) {
      message = found[1];
    } else if (std::regex_match(line, kReserved)) {
      static const std::regex kWord(R"(\w+)");
      for (std::sregex_iterator word(line.begin() + 9, line.end(), kWord), end; word != end; ++word)
        schema.reserved.insert(message + " " + word->str());
    } else if (std::regex_match(line, found, kField)) {
      schema.fields[message + " " + found[3].str()] = found[2].str() + " " + found[1].str();
    } else if (std::regex_match(line, found, kValue)) {
      schema.fields[message + " " + found[2].str()] = found[1];
    } else {
      schema.unread += line + "\n";
    }
  }
}

Schema our_schemas() {
  Schema schema;
  for (const auto& file : std::filesystem::directory_iterator(KVPLAN_SOURCE_DIR "/proto"))
    if (file.path().extension() == ".proto")
      read_schema(traces::testing::read_file(file.path().string()), schema);
  return schema;
}

/// The differences of `now` from the list, one line each.
std::vector<std::string> changes(const std::map<std::string, std::string>& released, const Schema& now) {
  std::vector<std::string> out;
  for (const auto& [place, was] : released) {
    const std::string message = place.substr(0, place.find(' '));
    const auto found = now.fields.find(place);
    if (found != now.fields.end()) {
      if (found->second != was) out.push_back(place + " was \"" + was + "\", is \"" + found->second + "\"");
    } else if (!now.reserved.contains(place) ||
               !now.reserved.contains(message + " " + was.substr(0, was.find(' ')))) {
      out.push_back(place + " was \"" + was + "\", is gone: number and name must be `reserved`");
    }
  }
  for (const auto& [place, field] : now.fields)
    if (!released.contains(place)) out.push_back("new, for tests/golden/schemas.txt: " + place + " " + field);
  return out;
}

/// The list: "MESSAGE NUMBER NAME TYPE" or "ENUM NUMBER VALUE" a line.
std::map<std::string, std::string> released_fields() {
  std::map<std::string, std::string> released;
  std::istringstream list(traces::testing::read_file(KVPLAN_SOURCE_DIR "/tests/golden/schemas.txt"));
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t number_ends = line.find(' ', line.find(' ') + 1);
    released[line.substr(0, number_ends)] = line.substr(number_ends + 1);
  }
  return released;
}

TEST(Schemas, FieldsAreThoseOfTheList) {
  const Schema now = our_schemas();
  EXPECT_EQ(now.unread, "");
  EXPECT_GT(now.fields.size(), 200U);
  EXPECT_EQ(changes(released_fields(), now), std::vector<std::string>{});
}

TEST(Schemas, EveryKindOfChangeIsNamed) {
  Schema before;
  read_schema("message M {\n  int64 a = 1;  // ns\n  repeated E b = 2;\n}\nenum E {\n  NONE = 0;\n}\n",
              before);
  const auto changes_to = [&](const std::string& text) {
    Schema now;
    read_schema(text, now);
    EXPECT_EQ(now.unread, "");
    return changes(before.fields, now);
  };
  using Lines = std::vector<std::string>;
  const std::string e = "enum E {\n  NONE = 0;\n}\n";
  EXPECT_EQ(changes_to("message M {\n  oneof o {\n    int64 a = 1;\n  }\n  repeated E b = 2;\n}\n" + e),
            Lines{});
  EXPECT_EQ(changes_to("message M {\n  int64 a = 1;\n  repeated E b = 2;\n  bytes c = 3;\n}\n" + e),
            Lines{"new, for tests/golden/schemas.txt: M 3 c bytes"});
  EXPECT_EQ(changes_to("message M {\n  sint64 a = 1;\n  repeated E b = 2;\n}\n" + e),
            Lines{"M 1 was \"a int64\", is \"a sint64\""});
  EXPECT_EQ(changes_to("message M {\n  int64 z = 1;\n  E b = 2;\n}\n" + e),
            (Lines{"M 1 was \"a int64\", is \"z int64\"", "M 2 was \"b repeated E\", is \"b E\""}));
  EXPECT_EQ(changes_to("message M {\n  int64 a = 3;\n  repeated E b = 2;\n}\n" + e),
            (Lines{"M 1 was \"a int64\", is gone: number and name must be `reserved`",
                   "new, for tests/golden/schemas.txt: M 3 a int64"}));
  EXPECT_EQ(changes_to("message M {\n  reserved 1;\n  reserved \"a\";\n  repeated E b = 2;\n}\n" + e),
            Lines{});
  EXPECT_EQ(changes_to("message M {\n  reserved 1, 7;\n  repeated E b = 2;\n}\n" + e).size(), 1U);
  EXPECT_EQ(changes_to("message M {\n  int64 a = 1;\n  repeated E b = 2;\n}\nenum E {\n  SOME = 0;\n}\n"),
            Lines{"E 0 was \"NONE\", is \"SOME\""});
}

/// Every field of a message and of those below it, every value of their enumerations.
void add_fields(const Descriptor& type, std::map<std::string, std::string>& fields,
                std::set<const void*>& seen) {
  if (!seen.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    std::string kind = field.type_name();
    if (field.message_type() != nullptr) kind = field.message_type()->name();
    if (field.enum_type() != nullptr) kind = field.enum_type()->name();
    if (field.is_repeated()) kind = "repeated " + kind;
    if (field.has_optional_keyword()) kind = "optional " + kind;
    fields[type.name() + " " + std::to_string(field.number())] = field.name() + " " + kind;
    if (field.message_type() != nullptr) add_fields(*field.message_type(), fields, seen);
    if (const EnumDescriptor* values = field.enum_type())
      for (int k = 0; k < values->value_count(); ++k)
        fields[values->name() + " " + std::to_string(values->value(k)->number())] = values->value(k)->name();
  }
}

TEST(Schemas, TheTextIsReadAsTheCompilerReadsIt) {
  std::map<std::string, std::string> compiled;
  std::set<const void*> seen;
  add_fields(*v1::Report::descriptor(), compiled, seen);
  add_fields(*v1::TimelineChunk::descriptor(), compiled, seen);
  Schema text;
  for (const char* name : {"report", "scenario"})
    read_schema(traces::testing::read_file(KVPLAN_SOURCE_DIR "/proto/" + std::string(name) + ".proto"), text);
  EXPECT_EQ(text.fields, compiled);
}

}  // namespace
}  // namespace kvplan::io
