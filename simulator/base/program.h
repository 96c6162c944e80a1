// What every program of the project does first, so that its outputs are absent or whole whatever happens to it.
#pragma once

namespace kvplan {

/// A standard stream that is closed stays unusable: else the first file to be opened would become it, and what is meant
/// for the terminal would end up in an output. Before any file is opened.
void hold_closed_streams();

/// First of all in `main` of a program for the command line:
/// - hold_closed_streams().
/// - SIGINT, SIGTERM and SIGHUP ask the program to stop (interrupted()); a second one ends it at once. SIGHUP that is
///   ignored stays so: that is what nohup asks for. SIGINT is taken even so, since shells ignore it for whatever they
///   start in the background and scripts send it all the same.
/// - A closed pipe, and a file that may not grow, are failed writes like any other.
void begin_program();

/// True once the user asked to stop; whoever notices returns interrupted_error().
bool interrupted();

}  // namespace kvplan
