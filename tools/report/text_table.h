// Prints rows in aligned columns within a width: columns are left out, then texts shortened, before
// a line gets too long. Must not know what the cells mean. Cells must be escaped.
#pragma once

#include <string>
#include <vector>

namespace chokepoint::tools {

struct TextColumn {
  std::string group;  // heading above the heading, shared by neighbours; "" = none
  std::string title;
  bool left = false;          // aligned left
  int leave_out = 0;          // the highest goes first when the line is too long; 0 = never
  std::size_t shrink_to = 0;  // texts may be cut to this many characters; 0 = never
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Each line begins with `indent` spaces and ends in a line break, without spaces before it.
  std::string Print(std::size_t width, std::size_t indent) const;

 private:
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Breaks `text` at spaces; every line begins with `indent` spaces.
std::string Wrap(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace chokepoint::tools
