// Calls that the program makes into NCCL: their handle is the time they began. Records only with
// CHOKEPOINT_DETAIL=api. Must not need a place on the board: an operation learns its arrival from
// its parent's handle alone.
#pragma once

#include "plugin/handles.h"
#include "plugin/settings.h"
#include "trace/clock.h"
#include "trace/events.h"

namespace chokepoint::plugin {

// With the setting: completes `record` and keeps it until the stop.
void* StartApiInDetail(HandleTag tag, bool graph_captured, trace::ApiCall* record) noexcept;
// Emits, the first time. Without the setting it does nothing.
void StopApiInDetail(Handle call) noexcept;
// Calls that are still open when a communicator ends.
void AbandonApiCalls(std::uint32_t communicator) noexcept;

// Groups and launches have no children that ask when they began: no clock is read for them.
inline void* StartApi(HandleTag tag, bool graph_captured) noexcept {
  const bool timed = tag == HandleTag::kCollectiveApi || tag == HandleTag::kPointToPointApi;
  return Handle::OfCall(tag, graph_captured, timed ? trace::NowTicks() : 0).raw();
}

inline void StopApi(Handle call) noexcept {
  if (__builtin_expect(g_settings.detail_api, 0)) StopApiInDetail(call);
}

}  // namespace chokepoint::plugin
