// A job's story -> Timeline, as the report reads it.
// Must not judge.
#pragma once

#include <chrono>
#include <functional>

#include "tests/support/job_builder.h"
#include "tests/tools/scratch.h"
#include "tools/model/build_timeline.h"

namespace chokepoint::tests {

// `tell` gets a job whose traces are read after it has returned.
inline tools::Timeline TimelineOf(const JobBuilder::Options& options,
                                  const std::function<void(JobBuilder*)>& tell) {
  const Scratch scratch;
  {
    JobBuilder job(scratch.traces(), options);
    tell(&job);
  }
  // As if the job had been over for a while.
  const auto then = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : std::filesystem::directory_iterator(scratch.traces())) {
    std::filesystem::last_write_time(entry.path(), then);
  }
  return tools::BuildTimeline(tools::OpenTraceSet({scratch.traces()}), 2);
}

}  // namespace chokepoint::tests
