// What must be known of a trace before its first event can be understood.
// Must not hold events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/block_walker.h"
#include "trace/ring_image.h"
#include "trace/schema.h"

namespace chokepoint::trace {

struct TraceContents {
  Schema schema;
  std::map<std::string, std::string, std::less<>> meta;
  std::unordered_map<std::uint32_t, std::string> names;
  RingImage::Drained drained;  // by ring: one past the last byte that the file has
  bool ended = false;

  void Collect(const Block& block);
  // What the file says counts; the ring file adds what it lacks.
  void CollectRing(const RingImage& image);

 private:
  void CollectMeta(std::string_view payload);
  void CollectNames(std::string_view payload);
};

}  // namespace chokepoint::trace
