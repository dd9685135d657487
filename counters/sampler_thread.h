// The sampler of this process, on a thread of its own, recording through the recorder.
// Must not start in a process that records nothing, and must be safe to call at any time, from any
// thread, in forked children.
//
// It is not the recorder's drain thread: a firmware command or a busy driver may hold a reading up
// for a hundred milliseconds, and the rings would fill meanwhile.
#pragma once

#include <cstdint>

struct sockaddr;

namespace chokepoint::counters {

struct SamplerOptions;

// Starts the thread, once per process. `options.sink` may be left empty: the recorder. False when
// it runs already or cannot. Copies what the options point to. Not for hot paths.
bool StartSampler(const SamplerOptions& options) noexcept;
// Takes the last samples and ends the thread; before trace::Stop. Bounded by `deadline_ms`.
void StopSampler(int deadline_ms) noexcept;
// In a child made by clone or _Fork, which run no handlers of pthread_atfork (fork does).
void ForgetSamplerAfterFork() noexcept;

// These leave a mark and return; NoteSlowOperation also wakes the thread: one system call.
void NoteSlowOperation() noexcept;
void NoteNewConnections() noexcept;
void NotePinnedThread(std::uint32_t tid) noexcept;
void NotePeer(const sockaddr* address) noexcept;

}  // namespace chokepoint::counters
