// PluginTrace: what a fake NCCL's process left behind, sorted by kind; and Play, which makes such a
// process. Must not hide anything that was recorded: unknown kinds and damage are there to be
// asserted.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/fakes/fake_nccl.h"
#include "trace/events.h"

namespace chokepoint::tests {

struct PluginTrace {
  int files = 0;
  bool ended = false;
  std::uint64_t lost_bytes = 0;
  std::uint64_t unknown_events = 0;
  std::vector<trace::Communicator> communicators;
  std::vector<trace::CommunicatorEnd> communicator_ends;
  std::vector<trace::Collective> collectives;
  std::vector<trace::PointToPoint> point_to_points;
  std::vector<trace::ProxyOperation> proxies;
  std::vector<trace::ProxyStep> steps;
  std::vector<trace::KernelChannel> kernels;
  std::vector<trace::Group> groups;
  std::vector<trace::ApiCall> calls;
  std::vector<trace::CopyEngine> copies;
  std::vector<trace::Loss> losses;
  std::vector<trace::Cost> costs;
  std::map<std::string, std::string> meta;
  std::map<std::uint32_t, std::string> names;
  std::string name(std::uint32_t id) const;
};

PluginTrace ReadPluginTrace(const std::string& path);
// All *.nccl.cpt of a directory.
PluginTrace ReadPluginTraces(const std::string& directory);

struct PlayOptions {
  std::map<std::string, std::string> environment;
  int nccl_version = 0;  // what ncclGetVersion says; 0 = it cannot be asked
};
struct Played {
  bool exited = false;  // in order, with status 0: no crash, no failed assertion in the script
  int raw_status = 0;
  PluginTrace trace;
};
// Runs `script` in a process of its own that has loaded the plugin, lets it exit, and reads its
// trace.
Played Play(const PlayOptions& options, const std::function<void(FakeNccl&)>& script);
Played Play(const std::function<void(FakeNccl&)>& script);
// The same for one interface version, with its release's version number.
Played PlayAt(int version, const std::function<void(FakeProfiler&)>& script,
              std::map<std::string, std::string> environment = {});

// "v5": for suites that run at every version.
std::string VersionName(const testing::TestParamInfo<int>& tested);

}  // namespace chokepoint::tests
