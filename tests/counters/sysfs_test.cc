// Small files through kept descriptors: what is read, what is gone, and whose descriptor is closed.
// Must not depend on the real /proc, except where a test is about it.
#include "counters/sysfs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "counters/text_scan.h"
#include "tests/counters/system_tree.h"

namespace chokepoint::tests {
namespace {

using counters::SysFile;

TEST(TextScan, NumbersAreWholeWordsThatFit) {
  std::uint64_t value = 7;
  EXPECT_TRUE(counters::ParseUnsigned("18446744073709551615", &value));
  EXPECT_EQ(value, ~std::uint64_t{0});
  for (const char* bad :
       {"", "N/A (no PMA)", "12x", "-1", "18446744073709551616", "99999999999999999999999"}) {
    value = 7;
    EXPECT_FALSE(counters::ParseUnsigned(bad, &value)) << bad;
    EXPECT_EQ(value, 7u) << bad;
  }
  EXPECT_TRUE(counters::ParseUnsigned("ff", &value, 16));
  EXPECT_EQ(value, 255u);
  std::int64_t with_sign = 0;
  EXPECT_TRUE(counters::ParseSigned("-1", &with_sign));
  EXPECT_EQ(with_sign, -1);
}

TEST(SysFile, RereadsThroughOneDescriptor) {
  SystemTree tree;
  tree.Write("/sys/a", "1\n");
  SysFile file;
  file.SetPath("/sys/a");
  char text[64];
  EXPECT_EQ(file.Read(tree.tree(), text, sizeof(text)), 2);
  EXPECT_TRUE(file.is_open());
  tree.Write("/sys/a", "22\n");
  EXPECT_EQ(file.Read(tree.tree(), text, sizeof(text)), 3);
  EXPECT_STREQ(text, "22\n");
  file.Close(tree.tree());
  EXPECT_FALSE(file.is_open());
}

TEST(SysFile, WithoutABudgetNothingStaysOpen) {
  SystemTree tree(0);
  tree.Write("/sys/a", "1\n");
  SysFile file;
  file.SetPath("/sys/a");
  char text[64];
  EXPECT_EQ(file.Read(tree.tree(), text, sizeof(text)), 2);
  EXPECT_FALSE(file.is_open());
  EXPECT_EQ(file.Read(tree.tree(), text, sizeof(text)), 2);
}

TEST(SysFile, AFileThatDisappearsIsNotedAndCounted) {
  SystemTree tree(0);
  tree.Write("/sys/a", "1\n");
  SysFile file;
  file.SetPath("/sys/a");
  char text[64];
  file.Read(tree.tree(), text, sizeof(text));
  EXPECT_FALSE(file.gone());
  tree.Remove("/sys/a");
  EXPECT_EQ(file.Read(tree.tree(), text, sizeof(text)), -ENOENT);
  EXPECT_TRUE(file.gone());
  EXPECT_EQ(tree.tree()->errors(), 1u);
  tree.Write("/sys/a", "9\n");
  EXPECT_EQ(file.Read(tree.tree(), text, sizeof(text)), 2);
  EXPECT_FALSE(file.gone());
}

TEST(SysFile, KeptDescriptorsStayOutOfTheProgramsWay) {
  SystemTree tree;
  tree.Write("/sys/a", "1\n");
  const int lowest = dup(0);
  close(lowest);
  SysFile file;
  file.SetPath("/sys/a");
  char text[64];
  file.Read(tree.tree(), text, sizeof(text));
  const int again = dup(0);
  EXPECT_EQ(again, lowest);
  close(again);
  file.Close(tree.tree());
}

// A program that closes every descriptor and opens its own files gets the same numbers.
TEST(SysFile, NeverClosesADescriptorThatTheProgramHasTakenOver) {
  SystemTree tree;
  tree.Write("/sys/a", "1\n");
  tree.Write("/other", "program's\n");
  std::vector<int> before;
  for (int fd = 3; fd < 2048; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) before.push_back(fd);
  }
  SysFile file;
  file.SetPath("/sys/a");
  char text[64];
  file.Read(tree.tree(), text, sizeof(text));
  ASSERT_TRUE(file.is_open());
  int ours = -1;
  for (int fd = 3; fd < 2048; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 && std::find(before.begin(), before.end(), fd) == before.end()) {
      ours = fd;
    }
  }
  ASSERT_GE(ours, 3);
  const int other = open((tree.root() + "/other").c_str(), O_RDONLY);
  ASSERT_EQ(dup2(other, ours), ours);
  file.Close(tree.tree());
  EXPECT_GE(fcntl(ours, F_GETFD), 0) << "the program's descriptor was closed";
  close(ours);
  close(other);
}

TEST(SysFile, ATakenDescriptorIsNoticedWithinEightReads) {
  SystemTree tree;
  tree.Write("/sys/a", "1\n");
  tree.Write("/other", "program's\n");
  SysFile file;
  file.SetPath("/sys/a");
  char text[64];
  file.Read(tree.tree(), text, sizeof(text));
  int ours = -1;
  for (int fd = 2047; fd >= 3 && ours < 0; --fd) {
    if (fcntl(fd, F_GETFD) >= 0) ours = fd;
  }
  const int other = open((tree.root() + "/other").c_str(), O_RDONLY);
  ASSERT_EQ(dup2(other, ours), ours);
  for (int i = 0; i < 8; ++i) file.Read(tree.tree(), text, sizeof(text));
  EXPECT_STREQ(text, "1\n");
  EXPECT_GE(fcntl(ours, F_GETFD), 0);
  close(ours);
  close(other);
  file.Close(tree.tree());
}

TEST(SysTree, LongFilesAreReadWholeAndBounded) {
  SystemTree tree;
  std::string text;
  while (text.size() < 20'000) text += "line of a longer file\n";
  tree.Write("/proc/long", text);
  std::vector<char> buffer(64 * 1024);
  EXPECT_EQ(tree.tree()->ReadOnce("/proc/long", buffer.data(), buffer.size()),
            static_cast<long>(text.size()));
  char small[100];
  EXPECT_EQ(tree.tree()->ReadOnce("/proc/long", small, sizeof(small)), 99);
  EXPECT_EQ(small[99], '\0');
}

TEST(SysTree, RealProcFilesOfSeveralPagesAreReadWhole) {
  counters::SysTree tree;
  tree.Init("", 4);
  std::vector<char> buffer(1 << 20);
  const long once = tree.ReadOnce("/proc/kallsyms", buffer.data(), buffer.size());
  if (once < 0) GTEST_SKIP() << "/proc/kallsyms cannot be read here";
  EXPECT_GT(once, 4096 * 8);
}

TEST(SysTree, ALineIsTrimmedInItsBufferToo) {
  SystemTree tree;
  char text[64];
  for (const auto& [content, expected] :
       {std::pair{"  two words \n", "two words"}, std::pair{"\n", ""}, std::pair{"", ""}}) {
    tree.Write("/sys/line", content);
    EXPECT_EQ(tree.tree()->ReadLine("/sys/line", text, sizeof(text)), expected);
    EXPECT_STREQ(text, expected);
  }
}

TEST(SysTree, LinksGiveTheirLastComponent) {
  SystemTree tree;
  tree.Link("/sys/class/net/eth0/device", "../../../0000:1b:00.0");
  char name[64];
  EXPECT_EQ(tree.tree()->LinkName("/sys/class/net/eth0/device", name, sizeof(name)),
            "0000:1b:00.0");
  EXPECT_EQ(tree.tree()->LinkName("/sys/none", name, sizeof(name)), "");
}

TEST(SysTree, DirectoriesOfManyEntriesAreListedWhole) {
  SystemTree tree;
  for (int i = 0; i < 300; ++i) tree.Write("/sys/many/entry-" + std::to_string(i), "");
  std::vector<std::string> names;
  EXPECT_EQ(counters::ForEachEntry(
                tree.tree(), "/sys/many",
                [](const char* name, void* argument) noexcept {
                  static_cast<std::vector<std::string>*>(argument)->emplace_back(name);
                },
                &names),
            300);
  EXPECT_EQ(names.size(), 300u);
  EXPECT_EQ(counters::ForEachEntry(
                tree.tree(), "/sys/none", [](const char*, void*) noexcept {}, nullptr),
            -ENOENT);
}

TEST(Errors, SayWhatTheyMean) {
  EXPECT_EQ(counters::StateOfError(-ENOENT), trace::SourceState::kMissing);
  EXPECT_EQ(counters::StateOfError(-EACCES), trace::SourceState::kForbidden);
  EXPECT_EQ(counters::StateOfError(-EPROTONOSUPPORT), trace::SourceState::kUnsupported);
  EXPECT_EQ(counters::StateOfError(-EIO), trace::SourceState::kUnreadable);
}

}  // namespace
}  // namespace chokepoint::tests
