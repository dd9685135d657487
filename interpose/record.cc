// Folds calls into windows and emits the rest. A window is assembled in the ring file's board, so
// that a killed process still tells it. Must not call libc, change errno or wait.
#include "interpose/record.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "interpose/files.h"
#include "interpose/mounts.h"
#include "interpose/transfer.h"
#include "trace/recorder.h"

namespace chokepoint::interpose {

TickScale g_ticks;

namespace {

using trace::FileCall;
using trace::FileWindow;

std::atomic<std::uint32_t> g_next_window{1};

FileWindow* WindowIn(trace::BoardSlot* slot) { return reinterpret_cast<FileWindow*>(slot->record); }
WindowSide* SideOf(trace::BoardSlot* slot) { return reinterpret_cast<WindowSide*>(slot->side); }

std::uint16_t Saturated(std::uint64_t value) {
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(value, 0xffff));
}

void AddToTotals(trace::ThreadFileTotals* totals, FileCallKind kind, std::uint64_t bytes,
                 std::uint32_t calls) {
  totals->calls += calls;
  switch (kind) {
    case FileCallKind::kRead:
      totals->read_bytes += bytes;
      return;
    case FileCallKind::kWrite:
      totals->written_bytes += bytes;
      return;
    case FileCallKind::kStdioRead:
      totals->stdio_read_bytes += bytes;
      return;
    case FileCallKind::kStdioWrite:
      totals->stdio_written_bytes += bytes;
      return;
    case FileCallKind::kAsyncRead:
    case FileCallKind::kAsyncWrite:
      totals->async_bytes += bytes;
      return;
    default:
      return;
  }
}

void EmitCall(ThreadState* state, const Call& call, std::uint64_t ticks) {
  if (!TellFile(state, call.file, call.fd)) return;
  FileCall record;
  record.call = static_cast<std::uint8_t>(call.kind);
  record.flags = call.flags;
  record.file = call.file;
  record.bytes = call.bytes > 0 ? static_cast<std::uint64_t>(call.bytes) : 0;
  record.offset = call.offset;
  record.start_ticks = call.start_ticks;
  record.end_after_ticks = static_cast<float>(ticks);
  record.error = static_cast<std::uint16_t>(call.error);
  record.calls = 1;
  record.descriptor = call.fd;
  record.detail = call.detail;
  trace::Emit(record);
}

// A window of one call is told as a call: it is less than half the size and says more.
void EmitWindow(trace::BoardSlot* slot) {
  const FileWindow& window = *WindowIn(slot);
  const WindowSide& side = *SideOf(slot);
  if (window.calls != 1 || side.copied_calls != 0) {
    trace::Emit(window);
    return;
  }
  FileCall record;
  record.call = window.call;
  record.flags = window.flags;
  record.file = window.file;
  record.bytes = window.bytes;
  record.offset = side.first_offset;
  record.start_ticks = window.start_ticks;
  record.end_after_ticks = static_cast<float>(window.time_ticks);
  record.error = window.last_error;
  record.calls = 1;
  record.descriptor = side.fd;
  record.detail = side.detail;
  trace::Emit(record);
}

void CloseWindow(WindowRef* ref) {
  if (ref->slot == nullptr) return;
  EmitWindow(ref->slot);
  FreeSlot(ref->slot);
  *ref = {0, nullptr};
}

FileWindow* OpenWindow(ThreadState* state, WindowRef* ref, std::uint64_t key, const Call& call) {
  std::int64_t next_offset = -1;
  trace::BoardSlot* slot = ref->slot;
  if (slot != nullptr) {
    if (ref->key == key) next_offset = SideOf(slot)->next_offset;
    EmitWindow(slot);
  } else {
    slot = ClaimSlot();
    if (slot == nullptr) return nullptr;
  }
  ref->key = key;
  ref->slot = slot;
  *SideOf(slot) = {next_offset, 0, call.offset, CoarseNs(), call.fd, call.detail, 0};
  FileWindow window;
  window.call = static_cast<std::uint8_t>(call.kind);
  window.file = call.file;
  window.thread = state->thread;
  window.window = g_next_window.fetch_add(1, std::memory_order_relaxed);
  window.start_ticks = call.start_ticks;
  window.unit_shift = g_ticks.unit_shift;
  std::memcpy(slot->record, &window, sizeof(window));
  return WindowIn(slot);
}

// False when it could not be folded.
bool Fold(ThreadState* state, Call call, std::uint64_t ticks) {
  if (state->windows_opened > kMaxWindows && call.file >= kFirstFile) {
    call.file = DirectoryOrSelf(call.file);
  }
  const std::uint64_t key = WindowKey(call.file, call.kind);
  WindowRef* ref = &state->windows[WindowPlace(call.file, call.kind)];
  FileWindow* window = nullptr;
  if (__builtin_expect(ref->key == key && ref->slot != nullptr, 1)) {
    window = WindowIn(ref->slot);
    if (call.start_ticks - window->start_ticks > g_ticks.window_ticks ||
        window->calls >= kMaxWindowCalls) {
      window = nullptr;
    }
  }
  if (__builtin_expect(window == nullptr, 0)) {
    if (!TellFile(state, call.file, call.fd)) return true;
    if (call.start_ticks - state->single_since_ticks > g_ticks.window_ticks) {
      state->single_since_ticks = call.start_ticks;
      state->single_calls = 0;
      state->windows_opened = 0;
    }
    ++state->windows_opened;
    window = OpenWindow(state, ref, key, call);
    if (window == nullptr) return false;
  }
  const std::uint64_t bytes = call.bytes > 0 ? static_cast<std::uint64_t>(call.bytes) : 0;
  AddToWindow(window, SideOf(ref->slot), call.flags, bytes, call.offset, call.sequential, ticks);
  window->end_after_ticks = static_cast<float>(call.end_ticks - window->start_ticks);
  if (call.error != 0) {
    ++window->failed_calls;
    window->last_error = static_cast<std::uint8_t>(call.error);
  }
  return true;
}

// This call interrupted our own code on the same thread.
void CountNested(ThreadState* state, const Call& call) {
  const bool writes = call.kind == FileCallKind::kWrite || call.kind == FileCallKind::kStdioWrite;
  const int direction = writes ? 1 : 0;
  if (call.bytes > 0) {
    state->nested.bytes[direction].fetch_add(static_cast<std::uint64_t>(call.bytes),
                                             std::memory_order_relaxed);
  }
  state->nested.calls[direction].fetch_add(1, std::memory_order_relaxed);
}

bool TellFileNow(File& file, std::uint32_t number, int fd, std::uint32_t generation) {
  Bypass bypass;
  FileFacts facts{};
  if (!LookAtFile(file, fd, &facts)) {
    Descriptor* descriptor = FindDescriptor(fd);
    if (descriptor != nullptr) descriptor->file.store(kIgnoredFile, std::memory_order_release);
    return false;
  }
  if (file.told_generation.exchange(generation, std::memory_order_relaxed) == generation)
    return true;
  if (facts.mount != 0) TellMount(facts.mount);
  trace::FileObject record;
  record.file_class = file.file_class;
  record.flags = static_cast<std::uint8_t>(file.flags | facts.flags);
  record.file = number;
  record.name = trace::InternName(file.path);
  record.mount = facts.mount;
  record.mode = facts.mode;
  record.open_flags = file.open_flags;
  record.size_bytes = facts.size_bytes;
  record.device = facts.device;
  record.inode = facts.inode;
  record.ticks = file.first_ticks;
  trace::Emit(record);
  return true;
}

}  // namespace

bool WithinBudget(ThreadState* state, std::uint64_t now) {
  if (now - state->single_since_ticks > g_ticks.window_ticks) {
    state->single_since_ticks = now;
    state->single_calls = 0;
    state->windows_opened = 0;
  }
  return ++state->single_calls <= kMaxSingleCalls;
}

void EmitNested(ThreadState* state, std::uint64_t now) {
  for (int direction = 0; direction < 2; ++direction) {
    const std::uint32_t calls =
        state->nested.calls[direction].exchange(0, std::memory_order_relaxed);
    if (calls == 0) continue;
    FileCall record;
    const FileCallKind kind = direction == 0 ? FileCallKind::kRead : FileCallKind::kWrite;
    record.call = static_cast<std::uint8_t>(kind);
    record.flags = trace::kFileCallUntimed;
    record.bytes = state->nested.bytes[direction].exchange(0, std::memory_order_relaxed);
    record.offset = kUnknownOffset;
    record.start_ticks = now;
    record.calls = Saturated(calls);
    record.descriptor = -1;
    AddToTotals(state->totals, kind, record.bytes, calls);
    trace::Emit(record);
    AddGap(trace::kGapSignal);
  }
}

void EndCall(ThreadState* state, const Call& call) {
  if (!Claim(state)) {
    CountNested(state, call);
    return;
  }
  state->totals->call = 0;
  AddToTotals(state->totals, call.kind, call.bytes > 0 ? static_cast<std::uint64_t>(call.bytes) : 0,
              1);
  const std::uint64_t ticks = call.end_ticks - call.start_ticks;
  const bool serious = call.error != 0 && call.error != EAGAIN && call.error != EINTR;
  const bool single = call.single || serious || ticks >= g_ticks.slow_ticks ||
                      call.bytes >= static_cast<std::int64_t>(kSingleBytes);
  if (__builtin_expect(single, 0) && WithinBudget(state, call.end_ticks)) {
    EmitCall(state, call, ticks);
  } else if (!Fold(state, call, ticks)) {
    EmitCall(state, call, ticks);
  }
  CompilerBarrier();
  if (__builtin_expect(HasNested(state), 0)) EmitNested(state, call.end_ticks);
  Release(state);
}

bool TellFile(ThreadState* state, std::uint32_t number, int fd) {
  File& file = FileOf(number);
  const std::uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (__builtin_expect(file.told_generation.load(std::memory_order_relaxed) == generation, 1))
    return true;
  if (number < kFirstFile) return true;
  const bool claimed = state->busy == 0;
  if (claimed) MakeBusy(state);
  const bool is_file = TellFileNow(file, number, fd, generation);
  if (claimed) Release(state);
  return is_file;
}

void CloseWindows(ThreadState* state) {
  if (!Claim(state)) return;
  if (HasNested(state)) EmitNested(state, trace::NowTicks());
  for (WindowRef& ref : state->windows) CloseWindow(&ref);
  Release(state);
}

void ShowWindows(bool all) {
  const std::uint64_t now = trace::NowTicks();
  const std::uint32_t threads = TheGate().highest_thread.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < threads; ++i) {
    ThreadState& state = ThreadStateOf(i);
    if (&state == t_state || state.alive.load(std::memory_order_acquire) != 1) continue;
    for (const WindowRef& ref : state.windows) {
      trace::BoardSlot* slot = ref.slot;
      if (slot == nullptr) continue;
      const std::uint64_t id = slot->id.load(std::memory_order_acquire);
      FileWindow window;
      std::memcpy(&window, slot->record, sizeof(window));
      std::atomic_thread_fence(std::memory_order_acquire);
      const bool torn =
          slot->id.load(std::memory_order_relaxed) != id || WindowIn(slot)->calls != window.calls;
      if (torn || window.kind != static_cast<std::uint16_t>(FileWindow::kKind)) continue;
      const bool idle = now - window.start_ticks > 2 * g_ticks.window_ticks;
      if (window.calls == SideOf(slot)->copied_calls || (!idle && !all)) continue;
      SideOf(slot)->copied_calls = window.calls;
      trace::Emit(window);
    }
  }
}

void ShowTotals() {
  const std::uint32_t threads = TheGate().highest_thread.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < threads; ++i) {
    ThreadState& state = ThreadStateOf(i);
    const trace::ThreadFileTotals* totals = state.totals;
    if (state.alive.load(std::memory_order_acquire) != 1 || totals == nullptr) continue;
    trace::Emit(*totals);
  }
}

}  // namespace chokepoint::interpose
