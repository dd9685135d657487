// The whole report of small jobs against tests/golden/cases/<name>/expected.{txt,json}, byte for
// byte. To accept a change: CHOKEPOINT_TEST_UPDATE=1, then read the difference in git. Must not be
// updated unread.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/report/stories.h"
#include "tests/tools/scratch.h"

namespace chokepoint::tests {
namespace {

class Golden : public testing::TestWithParam<Story> {};

void Compare(const std::string& name, const std::string& file, const std::string& actual) {
  const std::string folder = std::string(CHOKEPOINT_TEST_GOLDEN) + "/" + name;
  if (std::getenv("CHOKEPOINT_TEST_UPDATE") != nullptr) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + file, std::ios::binary) << actual;
  }
  EXPECT_EQ(ReadFile(folder + "/" + file), actual);
}

TEST_P(Golden, Report) {
  const Scratch scratch;
  GetParam().write(scratch.traces());
  EXPECT_EQ(scratch.Run("touch -d '1 hour ago' traces/*").status,
            0);  // or they count as still being written
  const CommandResult text = scratch.Run("$CHOKEPOINT report traces");
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.err, "");
  Compare(GetParam().name, "expected.txt", text.out);
  const CommandResult json = scratch.Run("$CHOKEPOINT report traces --format json");
  EXPECT_EQ(json.status, 0);
  Compare(GetParam().name, "expected.json", json.out);
  EXPECT_EQ(nlohmann::json::parse(json.out)["report_version"], 1);
}

TEST_P(Golden, FitsEightyColumns) {
  const Scratch scratch;
  GetParam().write(scratch.traces());
  const CommandResult text = scratch.Run("$CHOKEPOINT report traces | sed '/^FILES NOT READ/,$d'");
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(AllStories()), [](const auto& story) {
  std::string name = story.param.name;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace chokepoint::tests
