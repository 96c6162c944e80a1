// The files that this program has read. No output may overwrite one of them, however the program came to read it: as an
// argument, as a value of a scenario, or because another input names it.
//
// A program starts the record with `note_read_files` (begin_program calls it). Code that opens a file for reading calls
// `note_read`. A file output calls `check_not_read` when it is created and again before it gets its name, because
// inputs may be opened in between. Files are compared by device and inode, so links and other names of one file are
// found. Devices and pipes are never recorded. All functions may be called on any thread.
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan {

void note_read_files();
/// Records an open file. REQUIRES: the descriptor is open.
void note_read(int descriptor);
void note_read(const std::string& path);

/// Removes a file from the record, so that a newer version of this output may replace it.
void forget_read(const std::string& path);

/// Error: a path with the character NUL. The system would end the path there and open another file.
Status check_path(const std::string& path);

/// Error: the file exists and was read.
Status check_not_read(const std::string& path);

/// True if both paths lead to the same regular file.
bool is_same_file(const std::string& a, const std::string& b);
/// Checks before the work starts what check_not_read would otherwise find after it: no output is one of `inputs` or a
/// file that was read, and no two outputs are the same file. Each command with inputs and outputs calls this before it
/// opens any, and again when it learns of more inputs. The error names the output.
Status check_apart(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace kvplan
