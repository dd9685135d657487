// Prints rows in aligned columns within a width: columns are left out, then texts shortened, before
// a line gets too long. Must not know what the cells mean. Cells must be escaped.
#include "tools/report/text_table.h"

#include <algorithm>

#include "tools/report/escape.h"

namespace chokepoint::tools {
namespace {

constexpr std::size_t kWideGap = 2;
constexpr std::size_t kNarrowGap = 1;

std::string Cut(const std::string& text, std::size_t width) {
  if (DisplayWidth(text) <= width) return text;
  std::string cut;
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (starts && used++ == width - 2) break;
    cut += text[i];
  }
  return cut + "..";
}

std::string Pad(const std::string& text, std::size_t width, bool left) {
  const std::size_t used = DisplayWidth(text);
  const std::string spaces(width > used ? width - used : 0, ' ');
  return left ? text + spaces : spaces + text;
}

void FinishLine(std::string* line, std::string* out) {
  line->erase(line->find_last_not_of(' ') + 1);
  *out += *line + "\n";
}

}  // namespace

std::string TextTable::Print(std::size_t width, std::size_t indent) const {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, DisplayWidth(row[i]));
    widths.push_back(widest);
    shown.push_back(i);
  }
  std::size_t gap = kWideGap;
  const auto total = [&] {
    std::size_t sum = indent;
    for (const std::size_t i : shown) sum += widths[i] + gap;
    return sum - gap;
  };
  while (total() > width) {
    const auto worst =
        std::max_element(shown.begin(), shown.end(), [this](std::size_t a, std::size_t b) {
          return columns_[a].leave_out < columns_[b].leave_out;
        });
    if (columns_[*worst].leave_out == 0) break;
    shown.erase(worst);
  }
  if (total() > width) gap = kNarrowGap;
  for (const std::size_t i : shown) {
    if (total() > width && columns_[i].shrink_to > 0 && widths[i] > columns_[i].shrink_to) {
      widths[i] = std::max(columns_[i].shrink_to, widths[i] - std::min(widths[i], total() - width));
    }
  }

  std::string out;
  std::string line(indent, ' ');
  bool grouped = false;
  for (std::size_t k = 0; k < shown.size();) {
    std::size_t last = k;
    std::size_t span = widths[shown[k]];
    while (last + 1 < shown.size() && columns_[shown[last + 1]].group == columns_[shown[k]].group) {
      span += gap + widths[shown[++last]];
    }
    grouped |= !columns_[shown[k]].group.empty();
    line += Pad(Cut(columns_[shown[k]].group, std::max<std::size_t>(span, 2)), span, false) +
            std::string(gap, ' ');
    k = last + 1;
  }
  if (grouped) FinishLine(&line, &out);
  line.assign(indent, ' ');
  for (const std::size_t i : shown)
    line += Pad(columns_[i].title, widths[i], columns_[i].left) + std::string(gap, ' ');
  FinishLine(&line, &out);
  for (const auto& row : rows_) {
    line.assign(indent, ' ');
    for (const std::size_t i : shown) {
      line += Pad(Cut(row[i], widths[i]), widths[i], columns_[i].left) + std::string(gap, ' ');
    }
    FinishLine(&line, &out);
  }
  return out;
}

std::string Wrap(const std::string& text, std::size_t width, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string out;
  std::string line = margin;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() > indent && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      out += line + "\n";
      line = margin;
    }
    if (line.size() > indent) line += ' ';
    line += word;
    at = end + 1;
  }
  return out + line + "\n";
}

}  // namespace chokepoint::tools
