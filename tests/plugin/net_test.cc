// The network side as each release of NCCL meets it: accepted, no devices, never in the way.
// Must not need a network.
#include <gtest/gtest.h>

#include "tests/fakes/fake_nccl.h"
#include "tests/plugin/plugin_trace.h"

namespace chokepoint::tests {
namespace {

TEST(NetTest, EveryVersionIsAStubWithoutDevices) {
  const Played played = Play([](FakeNccl& nccl) {
    for (int version = 4; version <= 12; ++version) {
      const auto net = nccl.Net(version, version);
      ASSERT_NE(net, nullptr) << version;
      EXPECT_STREQ(net->name(), "chokepoint");
      EXPECT_TRUE(net->Complete()) << "NCCL calls some functions without looking";
      void* context = reinterpret_cast<void*>(std::uintptr_t{0x1234});
      EXPECT_EQ(net->Init(&context), ncclSuccess);
      int devices = 77;
      EXPECT_EQ(net->Devices(&devices), ncclSuccess);
      EXPECT_EQ(devices, 0);
      EXPECT_TRUE(net->RefusesWork());
      EXPECT_EQ(net->Finalize(context), ncclSuccess);
      EXPECT_EQ(net->Finalize(nullptr), ncclSuccess) << "2.28 does that";
    }
  });
  EXPECT_TRUE(played.exited);
  EXPECT_EQ(played.trace.files, 0) << "no communicator, no file";
}

TEST(NetTest, EveryReleaseFindsItsNativeVersions) {
  const Played played = Play([](FakeNccl& nccl) {
    for (std::size_t i = 0; i < kFakeReleaseCount; ++i) {
      const FakeRelease& release = kFakeReleases[i];
      const auto net = nccl.Net(release.highest_net, release.lowest_net);
      ASSERT_NE(net, nullptr) << release.name;
      EXPECT_EQ(net->version(), release.highest_net) << release.name;
      const auto profiler = nccl.Profiler(release.highest_profiler);
      ASSERT_EQ(profiler != nullptr, release.highest_profiler > 0) << release.name;
      if (profiler != nullptr) {
        EXPECT_EQ(profiler->version(), release.highest_profiler) << release.name;
      }
    }
  });
  EXPECT_TRUE(played.exited);
}

TEST(NetTest, TheTraceSaysWhetherTheNetworkSideWasAsked) {
  for (const bool asked : {false, true}) {
    const Played played = Play([asked](FakeNccl& nccl) {
      void* context = nullptr;
      if (asked) nccl.Net(11, 6)->Init(&context);
      int mask = 0;
      nccl.Profiler(5)->Init(&context, &mask, {});
    });
    ASSERT_TRUE(played.exited);
    EXPECT_EQ(played.trace.meta.at("nccl_net_side"), asked ? "initialised" : "not asked");
  }
}

}  // namespace
}  // namespace chokepoint::tests
