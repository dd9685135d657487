// Quantities, escapes, tables: how numbers and names look.
// Must not test whole reports: golden_test.cc does.
#include <gtest/gtest.h>

#include "tools/model/quantity.h"
#include "tools/report/escape.h"
#include "tools/report/text_table.h"

namespace chokepoint::tools {
namespace {

TEST(Quantity, ThreeDigits) {
  EXPECT_EQ(FormatNs(0), "0 s");
  EXPECT_EQ(FormatNs(999.6), "1.00 us");
  EXPECT_EQ(FormatNs(1234), "1.23 us");
  EXPECT_EQ(FormatNs(12.34e6), "12.3 ms");
  EXPECT_EQ(FormatNs(599e9), "599 s");
  EXPECT_EQ(FormatNs(660e9), "11.0 min");
  EXPECT_EQ(FormatBytes(25 << 20), "25 MiB");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatDecimalBytes(1.5e9), "1.5 GB");
  EXPECT_EQ(FormatGbps(1.534e9), "1.53");
  EXPECT_EQ(FormatGbps(371e9), "371");
  EXPECT_EQ(FormatShare(0.1234), "12.3 %");
  EXPECT_EQ(FormatShare(0.00005), "< 0.01 %");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(123), "123");
}

TEST(Escape, OnlyWhatCannotHurt) {
  EXPECT_EQ(Escape("plain, gr\xc3\xbc\xc3\x9f, \xe6\x97\xa5"),
            "plain, gr\xc3\xbc\xc3\x9f, \xe6\x97\xa5");
  EXPECT_EQ(Escape("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(Escape("a\nb\tc\x7f"), "a\\x0ab\\x09c\\x7f");
  EXPECT_EQ(Escape("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Escape("\xc2\x9b"), "\\xc2\\x9b");           // a one-byte escape sequence introducer
  EXPECT_EQ(Escape("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // reverses what follows
  EXPECT_EQ(Escape("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(Escape("\xe6\x97"), "\\xe6\\x97");           // cut off
}

TEST(TextTable, AlignsByWhatIsSeen) {
  TextTable table({{"", "name", true, 0, 0}, {"", "n", false, 0, 0}});
  table.AddRow({"\xc3\xbc", "1"});
  table.AddRow({"longer", "23"});
  EXPECT_EQ(table.Print(80, 2), "  name     n\n  \xc3\xbc        1\n  longer  23\n");
}

TEST(TextTable, LeavesOutThenShortens) {
  TextTable table({{"", "name", true, 0, 5}, {"", "extra", false, 1, 0}, {"", "n", false, 0, 0}});
  table.AddRow({"abcdefghij", "12345", "7"});
  EXPECT_EQ(table.Print(20, 0), "name        extra  n\nabcdefghij  12345  7\n");
  EXPECT_EQ(table.Print(19, 0), "name        n\nabcdefghij  7\n");
  EXPECT_EQ(table.Print(12, 0), "name       n\nabcdefghij 7\n");
  EXPECT_EQ(table.Print(10, 0), "name     n\nabcdef.. 7\n");
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(Wrap("one two three", 9, 2), "  one two\n  three\n");
  EXPECT_EQ(Wrap("unbreakable-word x", 5, 0), "unbreakable-word\nx\n");
}

}  // namespace
}  // namespace chokepoint::tools
