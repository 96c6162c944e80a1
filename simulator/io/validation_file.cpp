#include "simulator/io/validation_file.h"

#include "proto/validation.pb.h"
#include "simulator/base/json_writer.h"

namespace kvplan::io {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void put_validation(JsonWriter& json, const Message& message);

void put_validation_value(JsonWriter& json, const Message& message, const FieldDescriptor& field, int at) {
  const google::protobuf::Reflection& get = *message.GetReflection();
  const bool many = at >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      put_validation(json,
                     many ? get.GetRepeatedMessage(message, &field, at) : get.GetMessage(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      json.value(many ? get.GetRepeatedInt64(message, &field, at) : get.GetInt64(message, &field));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      json.value(many ? get.GetRepeatedDouble(message, &field, at) : get.GetDouble(message, &field));
      break;
    default:
      json.value(many ? get.GetRepeatedString(message, &field, at) : get.GetString(message, &field));
  }
}

/// The names of the fields are the keys, in their order.
void put_validation(JsonWriter& json, const Message& message) {
  json.begin_object();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    json.key(field.name());
    if (field.is_repeated()) {
      json.begin_array();
      for (int k = 0; k < message.GetReflection()->FieldSize(message, &field); ++k)
        put_validation_value(json, message, field, k);
      json.end_array();
    } else if (field.has_presence() && !message.GetReflection()->HasField(message, &field)) {
      json.null();
    } else {
      put_validation_value(json, message, field, -1);
    }
  }
  json.end_object();
}

}  // namespace

std::string validation_json(const v1::Validation& message) {
  JsonWriter json;
  put_validation(json, message);
  return json.take();
}

Status write_validation(const v1::Validation& message, const DocumentWriter::Sink& sink) {
  DocumentWriter writer(sink);
  KVPLAN_TRY_DO(writer.begin(DocumentKind::kValidation, message.SerializeAsString()));
  return writer.finish();
}

Result<v1::Validation> read_validation(traces::Input& input) {
  DocumentReader reader(input);
  KVPLAN_TRY(const std::string body, reader.body(DocumentKind::kValidation));
  v1::Validation message;
  if (!message.ParseFromString(body)) return reader.wrong("expected a Validation message");
  while (true) {
    KVPLAN_TRY(const auto frame, reader.next());
    if (!frame) return message;
  }
}

Result<std::string> validation_file_json(const std::string& path) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  KVPLAN_TRY(const v1::Validation message, read_validation(*input));
  return validation_json(message);
}

}  // namespace kvplan::io
