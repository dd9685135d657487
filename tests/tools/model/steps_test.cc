// The rhythm of a job, with what disturbs it.
// Must not test what detectors make of it.
#include "tools/model/steps.h"

#include <gtest/gtest.h>

namespace chokepoint::tools {
namespace {

// `steps` steps of 100 ns whose operations are `kinds`; every `extra_every`th has one more
// operation.
Steps Infer(const std::vector<std::uint64_t>& kinds, int steps, int extra_every = 0) {
  std::vector<StepMark> marks;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      marks.push_back({kinds[i], step * 100 + static_cast<std::int64_t>(i)});
    }
    if (extra_every > 0 && step % extra_every == 0) marks.push_back({99, step * 100 + 90});
  }
  return InferSteps(&marks);
}

TEST(Steps, CountsRepeatingUnits) {
  const Steps steps = Infer({1, 2, 3, 1, 4}, 40);
  EXPECT_EQ(steps.count, 40u);
  EXPECT_EQ(steps.operations_per_step, 5u);
  EXPECT_EQ(steps.duration.count(), 39u);
  EXPECT_NEAR(steps.duration.Quantile(0.5), 100, 1);
}

TEST(Steps, EqualBucketsAreNotSteps) {
  EXPECT_EQ(Infer({1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 8}, 30).operations_per_step, 14u);
}

TEST(Steps, CheckpointsDoNotDisturb) {
  const Steps steps = Infer({1, 2, 3, 4}, 100, 20);
  EXPECT_EQ(steps.count, 100u);
  EXPECT_EQ(steps.operations_per_step, 4u);
}

TEST(Steps, NoneWithoutRhythm) {
  std::vector<StepMark> marks;
  std::uint64_t random = 1;
  for (int i = 0; i < 1000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    marks.push_back({random >> 60, i});
  }
  EXPECT_EQ(InferSteps(&marks).count, 0u);
  EXPECT_EQ(Infer({1, 2, 3}, 4).count, 0u);  // too few
  std::vector<StepMark> none;
  EXPECT_EQ(InferSteps(&none).count, 0u);
}

}  // namespace
}  // namespace chokepoint::tools
