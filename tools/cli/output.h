// Where output goes: standard output or a file, and what a terminal can show. Diagnostics go to
// standard error, one line each. Must not let a closed pipe look like a failure: `chokepoint dump
// FILE | head` is a good use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chokepoint::tools {

// "chokepoint: <message>" on standard error, escaped.
void Complain(std::string_view message);

// Text of our own on standard error, as it is.
void WriteError(std::string_view text);

// Width to print for: the terminal's, else $COLUMNS, else 80.
std::size_t OutputWidth(int descriptor);
// True on a terminal unless NO_COLOR is set or TERM is "dumb".
bool OutputColor(int descriptor);

// Writes `text` to `path`, or to standard output when it is "" or "-". A file appears whole or not
// at all. Returns an ExitStatus; has complained when it is not kExitOk.
int WriteOutput(const std::string& path, const std::string& text);

// Streams to standard output in large pieces. Add returns false once nobody reads any more or the
// disk is full.
class OutputStream {
 public:
  bool Add(std::string_view text);
  // Writes what is left. Returns an ExitStatus.
  int Finish();

 private:
  void Flush();
  std::string pending_;
  int error_ = 0;  // errno
};

}  // namespace chokepoint::tools
