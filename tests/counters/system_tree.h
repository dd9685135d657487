// A folder that plays the machine: tests write proc/ and sys/ files into it and read them through
// the code under test. Must not touch the real /proc or /sys.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "counters/round.h"
#include "tests/counters/recording_sink.h"

namespace chokepoint::tests {

class SystemTree {
 public:
  explicit SystemTree(int descriptors = 16) {
    char name[] = "/tmp/chokepoint-tree-XXXXXX";
    root_ = mkdtemp(name);
    Open(root_.c_str(), descriptors);
  }
  // A tree that lies in the source folder, read only.
  explicit SystemTree(const std::string& recorded) {
    owned_ = false;
    root_ = recorded;
    Open(root_.c_str(), 16);
  }
  SystemTree(const SystemTree&) = delete;
  SystemTree& operator=(const SystemTree&) = delete;
  ~SystemTree() {
    if (owned_) std::filesystem::remove_all(root_);
  }

  // Replaces a file's content in place, as procfs does: descriptors that are open see it.
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::trunc) << text;
  }
  void Link(const std::string& path, const std::string& target) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::remove(full);
    std::filesystem::create_symlink(target, full);
  }
  void Remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }
  // The same content under a new inode: what a device that went and came back looks like.
  void Replace(const std::string& path, const std::string& text) {
    Remove(path);
    Write(path, text);
  }

  counters::SysTree* tree() { return &tree_; }
  const std::string& root() const { return root_; }
  RecordingSink& events() { return events_; }

  // A round of sampling, one second after the previous one.
  counters::Round NextRound() {
    now_ += 1'000'000'000;
    sink_ = events_.sink();
    return {.tree = &tree_,
            .sink = &sink_,
            .buffer = buffer_.get(),
            .buffer_bytes = kBufferBytes,
            .now_ticks = now_,
            .now_ns = now_};
  }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;
  void Open(const char* root, int descriptors) { tree_.Init(root, descriptors); }

  bool owned_ = true;
  std::string root_;
  counters::SysTree tree_;
  RecordingSink events_;
  counters::Sink sink_;
  std::unique_ptr<char[]> buffer_{new char[kBufferBytes]};
  std::uint64_t now_ = 1'000'000'000;
};

}  // namespace chokepoint::tests
