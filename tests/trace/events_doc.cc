// events_doc PAGE: writes the tables of events into docs/trace-format.md.
// Must not change a word outside the two marks.
#include <cstdio>

#include "tests/trace/events_table.h"

int main(int argc, char** argv) {
  using namespace chokepoint::tests;
  if (argc != 2) return 2;
  std::string page = ReadWhole(argv[1]);
  const std::size_t begin = page.find(kTableBegin);
  const std::size_t end = page.find(kTableEnd);
  if (begin == std::string::npos || end == std::string::npos) {
    std::fprintf(stderr, "events_doc: %s has no marks\n", argv[1]);
    return 1;
  }
  const std::size_t after_mark = begin + std::string(kTableBegin).size();
  page.replace(after_mark, end - after_mark, EventsTable());
  std::ofstream(argv[1]) << page;
  return 0;
}
