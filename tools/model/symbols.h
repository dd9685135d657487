// Small numbers for the few strings that NCCL uses (functions, algorithms, protocols, datatypes),
// the same for all files of a set. Must not hold names that grow with the job, such as paths.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace chokepoint::tools {

using Symbol = std::uint8_t;  // 0 = none

// Threads: safe. At most 255 strings; later ones become symbol 0 (unknown).
class SymbolTable {
 public:
  SymbolTable() : texts_{""} {}
  Symbol Find(std::string_view text) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (texts_[i] == text) return static_cast<Symbol>(i);
    }
    if (texts_.size() > 255) return 0;
    texts_.emplace_back(text);
    return static_cast<Symbol>(texts_.size() - 1);
  }
  std::string Text(Symbol symbol) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return texts_[symbol];
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

// The literals of one file as symbols.
class FileSymbols {
 public:
  FileSymbols(const trace::TraceFile& file, SymbolTable* table) : file_(file), table_(table) {}
  Symbol operator[](std::uint8_t literal) {
    if (!known_[literal]) {
      symbols_[literal] = table_->Find(file_.name(literal));
      known_[literal] = true;
    }
    return symbols_[literal];
  }

 private:
  const trace::TraceFile& file_;
  SymbolTable* table_;
  Symbol symbols_[256] = {};
  bool known_[256] = {};
};

}  // namespace chokepoint::tools
