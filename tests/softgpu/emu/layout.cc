// The table of layouts and the decoder of a collective's work.
// It must not contain a release that was not measured.
#include "tests/softgpu/emu/layout.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr Layout kLayouts[] = {
    {.since = 22300,
     .comm = {.channels = 80,
              .p2p_chunk_size = 28,
              .abort_flag = 56,
              .work_started = kAbsent,
              .work_completed = kAbsent,
              .work_consumed = 40},
     .channel = {.size = 368, .ring_index = 16, .tree = 32, .work_counter = kAbsent},
     .coll = {.size = 96,
              .recv_buffer = 8,
              .send_buffer = 16,
              .counts = 56,
              .red_op_arg = 88,
              .registered_size = 288},
     .data_types = 10,
     .has_all_gather_v = false,
     .profiler_slots = false,
     .p2p_bit_reversed = true,
     .signed_post_div = true},
    {.since = 22400,
     .comm = {.channels = 80,
              .p2p_chunk_size = 28,
              .abort_flag = 56,
              .work_started = kAbsent,
              .work_completed = kAbsent,
              .work_consumed = 40},
     .channel = {.size = 368, .ring_index = 16, .tree = 32, .work_counter = kAbsent},
     .coll = {.size = 96,
              .recv_buffer = 8,
              .send_buffer = 16,
              .counts = 56,
              .red_op_arg = 88,
              .registered_size = 288},
     .data_types = 12,
     .has_all_gather_v = false,
     .profiler_slots = false,
     .p2p_bit_reversed = true,
     .signed_post_div = false},
    {.since = 22500,
     .comm = {.channels = 80,
              .p2p_chunk_size = 28,
              .abort_flag = 56,
              .work_started = kAbsent,
              .work_completed = kAbsent,
              .work_consumed = 40},
     .channel = {.size = 352, .ring_index = 16, .tree = 32, .work_counter = kAbsent},
     .coll = {.size = 96,
              .recv_buffer = 8,
              .send_buffer = 16,
              .counts = 56,
              .red_op_arg = 88,
              .registered_size = 288},
     .data_types = 12,
     .has_all_gather_v = false,
     .profiler_slots = false,
     .p2p_bit_reversed = true,
     .signed_post_div = false},
    {.since = 22600,
     .comm = {.channels = 96,
              .p2p_chunk_size = 28,
              .abort_flag = 56,
              .work_started = 80,
              .work_completed = 88,
              .work_consumed = 40},
     .channel = {.size = 368, .ring_index = 16, .tree = 32, .work_counter = 352},
     .coll = {.size = 96,
              .recv_buffer = 8,
              .send_buffer = 16,
              .counts = 56,
              .red_op_arg = 88,
              .registered_size = 288},
     .data_types = 12,
     .has_all_gather_v = false,
     .profiler_slots = false,
     .p2p_bit_reversed = true,
     .signed_post_div = false},
    {.since = 22700,
     .comm = {.channels = 96,
              .p2p_chunk_size = 28,
              .abort_flag = 48,
              .work_started = 72,
              .work_completed = 80,
              .work_consumed = kAbsent},
     .channel = {.size = 368, .ring_index = 16, .tree = 32, .work_counter = 352},
     .coll = {.size = 96,
              .recv_buffer = 8,
              .send_buffer = 16,
              .counts = 56,
              .red_op_arg = 88,
              .registered_size = 288},
     .data_types = 12,
     .has_all_gather_v = false,
     .profiler_slots = true,
     .p2p_bit_reversed = true,
     .signed_post_div = false},
    {.since = 22800,
     .comm = {.channels = 96,
              .p2p_chunk_size = 28,
              .abort_flag = 48,
              .work_started = 72,
              .work_completed = 80,
              .work_consumed = kAbsent},
     .channel = {.size = 368, .ring_index = 16, .tree = 32, .work_counter = 352},
     .coll = {.size = 96,
              .recv_buffer = 8,
              .send_buffer = 16,
              .counts = 56,
              .red_op_arg = 88,
              .registered_size = 288},
     .data_types = 12,
     .has_all_gather_v = false,
     .profiler_slots = true,
     .p2p_bit_reversed = false,
     .signed_post_div = false},
    {.since = 22900,
     .comm = {.channels = 96,
              .p2p_chunk_size = 28,
              .abort_flag = 48,
              .work_started = 72,
              .work_completed = 80,
              .work_consumed = kAbsent},
     .channel = {.size = 368, .ring_index = 24, .tree = 40, .work_counter = 360},
     .coll = {.size = 96,
              .recv_buffer = 8,
              .send_buffer = 16,
              .counts = 56,
              .red_op_arg = 88,
              .registered_size = 288},
     .data_types = 12,
     .has_all_gather_v = true,
     .profiler_slots = true,
     .p2p_bit_reversed = false,
     .signed_post_div = false},
    {.since = 23000,
     .comm = {.channels = 96,
              .p2p_chunk_size = 28,
              .abort_flag = 48,
              .work_started = 72,
              .work_completed = 80,
              .work_consumed = kAbsent},
     .channel = {.size = 368, .ring_index = 24, .tree = 40, .work_counter = 360},
     .coll = {.size = 128,
              .recv_buffer = 24,
              .send_buffer = 32,
              .counts = 80,
              .red_op_arg = 112,
              .registered_size = 320},
     .data_types = 12,
     .has_all_gather_v = true,
     .profiler_slots = true,
     .p2p_bit_reversed = false,
     .signed_post_div = false},
};

constexpr uint64_t kGrainsMask = 0x1fffff;  // three of 21 bits in a word
constexpr int kGrainsBits = 21;

}  // namespace

const Layout& LayoutFor(int version) {
  const Layout* found = &kLayouts[0];
  for (const Layout& layout : kLayouts) {
    if (layout.since <= version) found = &layout;
  }
  return *found;
}

CollWork DecodeColl(const Layout& layout, const void* work) {
  CollWork c{};
  const auto word = ReadAt<uint32_t>(work, 0);
  c.channel_first = static_cast<int>(word & 0xff);
  c.channel_last = static_cast<int>((word >> 8) & 0xff);
  const uint32_t bits = word >> 24;
  c.arg_is_pointer = (bits & 0x01) != 0;
  c.registered = (bits & 0x06) != 0;
  c.profiled = (bits & 0x80) != 0;
  c.root = ReadAt<int>(work, 4);
  c.recv_buffer = ReadAt<char*>(work, layout.coll.recv_buffer);
  c.send_buffer = ReadAt<char*>(work, layout.coll.send_buffer);
  const auto grains = ReadAt<uint64_t>(work, layout.coll.counts + 24);
  CollWork::Share* const shares[] = {&c.first, &c.middle, &c.last};
  for (int i = 0; i < 3; i++) {
    shares[i]->count = ReadAt<int64_t>(work, layout.coll.counts + 8 * i);
    shares[i]->grains = static_cast<int64_t>((grains >> (kGrainsBits * i)) & kGrainsMask);
  }
  c.red_op_arg = ReadAt<uint64_t>(work, layout.coll.red_op_arg);
  return c;
}

}  // namespace chokepoint::softgpu::emu
