// Validations: what `kvplan-validate run` writes (proto/validation.proto), in binary form (.kvv; DOCUMENT_FORMAT.md)
// and as JSON with the names of the fields as keys, in their order.
#pragma once

#include <string>

#include "simulator/io/document_file.h"

namespace kvplan::v1 {
class Validation;
}

namespace kvplan::io {

std::string validation_json(const v1::Validation& message);
Status write_validation(const v1::Validation& message, const DocumentWriter::Sink& sink);
/// Errors: another kind of file, damaged bytes.
Result<v1::Validation> read_validation(traces::Input& input);
/// The JSON of a binary file. Errors: likewise.
Result<std::string> validation_file_json(const std::string& path);

}  // namespace kvplan::io
