// Fields of scenarios and reports against the list of those that were released: numbers and types never
// change.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>

#include "proto/report.pb.h"
#include "tests/unit/traces/support.h"

namespace kvplan::io {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

std::string line_of(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->name();
  if (field.enum_type() != nullptr) type = field.enum_type()->name();
  if (field.is_repeated()) type = "repeated " + type;
  if (field.has_optional_keyword()) type = "optional " + type;
  return field.containing_type()->name() + " " + std::to_string(field.number()) + " " + field.name() + " " +
         type;
}

/// Every field of a message and of those below it, every value of their enumerations.
void add_lines(const Descriptor& type, std::set<std::string>& lines, std::set<const void*>& seen) {
  if (!seen.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    lines.insert(line_of(field));
    if (field.message_type() != nullptr) add_lines(*field.message_type(), lines, seen);
    if (const EnumDescriptor* values = field.enum_type())
      for (int k = 0; k < values->value_count(); ++k)
        lines.insert(values->name() + " " + std::to_string(values->value(k)->number()) + " " +
                     values->value(k)->name());
  }
}

TEST(Schemas, FieldsAreThoseOfTheList) {
  std::set<std::string> now, released;
  std::set<const void*> seen;
  add_lines(*v1::Report::descriptor(), now, seen);
  add_lines(*v1::TimelineChunk::descriptor(), now, seen);
  const std::string list = traces::testing::read_file(KVPLAN_SOURCE_DIR "/tests/golden/schemas.txt");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = list.find('\n', begin);
    if (list[begin] != '#') released.insert(list.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& line : released)
    EXPECT_TRUE(now.contains(line)) << "a released field is gone or another one: " << line;
  for (const std::string& line : now)
    EXPECT_TRUE(released.contains(line)) << "a new field, for tests/golden/schemas.txt: " << line;
}

}  // namespace
}  // namespace kvplan::io
