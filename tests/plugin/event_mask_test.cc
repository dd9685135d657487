// What is asked of which NCCL, and how the settings are read.
// Must not need a plugin: it calls the functions.
#include "plugin/event_mask.h"

#include <gtest/gtest.h>

#include "plugin/abi/profiler_events.h"

namespace chokepoint::plugin {
namespace {

constexpr std::uint32_t kHost = ncclProfileGroup | ncclProfileColl | ncclProfileP2p;
constexpr std::uint32_t kProxy = ncclProfileProxyOp | ncclProfileProxyStep;
constexpr std::uint32_t kApi = ncclProfileGroupApi | ncclProfileCollApi | ncclProfileP2pApi;
constexpr std::uint32_t kCopy = ncclProfileCeColl | ncclProfileCeSync | ncclProfileCeBatch;

TEST(EventMaskTest, EachReleaseIsAskedForWhatIsSafeThere) {
  const Settings none;
  EXPECT_EQ(ChooseEventMask(22304, 1, none), kHost | kProxy);
  EXPECT_EQ(ChooseEventMask(22501, 2, none), kHost | kProxy);
  EXPECT_EQ(ChooseEventMask(22606, 3, none), kHost | kProxy)
      << "no kernel events: all-to-all would hang";
  EXPECT_EQ(ChooseEventMask(22707, 4, none), kHost | kProxy)
      << "no kernel events: all-to-all would hang";
  EXPECT_EQ(ChooseEventMask(22809, 5, none), kHost | kProxy | kApi | ncclProfileKernelCh);
  EXPECT_EQ(ChooseEventMask(22907, 6, none), kHost | kProxy | kApi | kCopy | ncclProfileKernelCh);
  EXPECT_EQ(ChooseEventMask(23100, 7, none), kHost | kProxy | kApi | kCopy | ncclProfileKernelCh);
}

TEST(EventMaskTest, WithoutAVersionTheInterfaceDecides) {
  const Settings none;
  EXPECT_EQ(ChooseEventMask(0, 4, none) & ncclProfileKernelCh, 0u);
  EXPECT_EQ(ChooseEventMask(0, 5, none) & ncclProfileKernelCh, ncclProfileKernelCh);
}

TEST(EventMaskTest, LaunchesComeWithTheApiDetail) {
  Settings settings;
  EXPECT_EQ(ChooseEventMask(22809, 5, settings) & ncclProfileKernelLaunch, 0u);
  ParseDetail("steps,api", &settings);
  EXPECT_EQ(ChooseEventMask(22809, 5, settings) & ncclProfileKernelLaunch, ncclProfileKernelLaunch);
}

TEST(EventMaskTest, TheUserOverrides) {
  Settings settings;
  ASSERT_TRUE(ParseEventMask("0x42", &settings));
  EXPECT_EQ(ChooseEventMask(22606, 3, settings), 0x42u);
  ASSERT_TRUE(ParseEventMask("0", &settings));
  EXPECT_EQ(ChooseEventMask(22809, 5, settings), 0u);
}

TEST(SettingsTest, NonsenseIsNoMask) {
  for (const char* text : {"", "x", "12x", "-", "99999999999", "0x1ffffffff"}) {
    Settings settings;
    EXPECT_FALSE(ParseEventMask(text, &settings)) << text;
    EXPECT_FALSE(settings.has_event_mask);
  }
  Settings settings;
  EXPECT_FALSE(ParseEventMask(nullptr, &settings));
}

TEST(SettingsTest, DetailIsAListOfWords) {
  Settings settings;
  ParseDetail("api", &settings);
  EXPECT_TRUE(settings.detail_api);
  EXPECT_FALSE(settings.detail_steps);
  EXPECT_FALSE(settings.detail_kernels);
  settings = Settings{};
  ParseDetail("steps, kernels,unknown", &settings);
  EXPECT_FALSE(settings.detail_api);
  EXPECT_TRUE(settings.detail_steps);
  EXPECT_TRUE(settings.detail_kernels);
  settings = Settings{};
  ParseDetail("all", &settings);
  EXPECT_TRUE(settings.detail_api && settings.detail_steps && settings.detail_kernels);
  settings = Settings{};
  ParseDetail("apis,step,,", &settings);
  EXPECT_FALSE(settings.detail_api || settings.detail_steps || settings.detail_kernels);
  ParseDetail(nullptr, &settings);
}

}  // namespace
}  // namespace chokepoint::plugin
