// The jobs of the golden reports: each writes the traces of one small job.
// Must not say what the report makes of it: tests/golden/cases/<name>/ does.
#pragma once

#include <string>
#include <vector>

namespace chokepoint::tests {

struct Story {
  const char* name;
  void (*write)(const std::string& directory);
};

const std::vector<Story>& AllStories();

}  // namespace chokepoint::tests
