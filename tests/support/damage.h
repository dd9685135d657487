// Damage for trace files in tests, by name.
// Must not repair checksums: accidents do not.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "trace/block_walker.h"

namespace chokepoint::tests {

struct BlockPlace {
  std::uint64_t offset;
  std::uint64_t bytes;       // header, payload, padding
  std::uint64_t used_bytes;  // without padding
  trace::BlockKind kind;
};

// A file's bytes in memory. Every verb returns a damaged copy.
class Damaged {
 public:
  static Damaged Load(const std::string& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return Damaged(bytes.str());
  }
  explicit Damaged(std::string bytes) : bytes_(std::move(bytes)) {}

  Damaged Truncate(std::size_t bytes) const { return Damaged(bytes_.substr(0, bytes)); }
  Damaged FlipByte(std::size_t at, unsigned char mask = 0xff) const {
    Damaged copy = *this;
    copy.bytes_[at] = static_cast<char>(static_cast<unsigned char>(copy.bytes_[at]) ^ mask);
    return copy;
  }
  Damaged DropBlock(std::size_t number) const {
    const BlockPlace place = Blocks().at(number);
    Damaged copy = *this;
    copy.bytes_.erase(place.offset, place.bytes);
    return copy;
  }
  Damaged AppendZeros(std::size_t count) const {
    return Damaged(bytes_ + std::string(count, '\0'));
  }
  Damaged ZeroOut(std::size_t at, std::size_t count) const {
    Damaged copy = *this;
    copy.bytes_.replace(at, count, std::string(count, '\0'));
    return copy;
  }

  std::vector<BlockPlace> Blocks() const {
    std::vector<BlockPlace> places;
    const int fd = static_cast<int>(memfd_create("blocks", 0));
    WriteTo(fd);
    trace::BlockWalker walker(fd, sizeof(trace::FileHeader), bytes_.size(), nullptr);
    trace::Block block;
    while (walker.Next(&block)) {
      places.push_back({block.offset, block.bytes,
                        sizeof(trace::BlockHeader) + block.header.payload_bytes,
                        static_cast<trace::BlockKind>(block.header.kind)});
    }
    close(fd);
    return places;
  }
  void Save(const std::string& path) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes_;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void WriteTo(int fd) const {
    std::size_t done = 0;
    while (done < bytes_.size()) {
      const ssize_t got = write(fd, bytes_.data() + done, bytes_.size() - done);
      if (got <= 0) return;
      done += static_cast<std::size_t>(got);
    }
  }
  std::string bytes_;
};

}  // namespace chokepoint::tests
