// What every program of the project does first, so that its outputs are complete or absent whatever happens to it.
#pragma once

namespace kvplan {

/// Keeps a closed standard stream unusable. Otherwise the first file to be opened would get its number, and terminal
/// output would end up in that file. Call it before any file is opened.
void hold_closed_streams();

/// Call first in `main` of a command-line program:
/// - hold_closed_streams().
/// - note_read_files() (read_files.h): no output overwrites a file that was read.
/// - SIGINT, SIGTERM and SIGHUP ask the program to stop (interrupted()); a second signal ends it at once. If SIGHUP is
///   ignored, it stays ignored: nohup asks for that. SIGINT is handled even if it is ignored, since shells ignore it
///   for background processes, and scripts send it all the same.
/// - Writing to a closed pipe, or to a file that may not grow, fails like any other write.
void begin_program();

/// True once the user asked to stop; the code that sees it returns interrupted_error().
bool interrupted();

}  // namespace kvplan
