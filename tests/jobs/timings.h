// What one thread of a rank has told NCCL to do, counted exactly, and how long it took.
// It must not be shared between threads: logs are merged at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace chokepoint::jobs {

// One kind of call to NCCL on one communicator.
struct CallKey {
  int communicator;
  std::string function;  // NCCL's name: AllReduce, AllGather, Send, Recv
  std::string role;      // what the job needed it for: bucket, barrier, ...
  uint64_t bytes;        // count times the size of the type, as passed to NCCL
  auto operator<=>(const CallKey&) const = default;
};

// One kind of measured operation: a call, or a group of calls.
struct TimingKey {
  std::string operation;
  std::string role;
  uint64_t algbw_bytes;  // S of algbw = S / t, nccl-tests' definition
  auto operator<=>(const TimingKey&) const = default;
};

class OperationLog {
 public:
  void Count(const CallKey& key) { calls_[key]++; }
  void Time(const TimingKey& key, double seconds) { timings_[key].push_back(seconds); }
  void Merge(const OperationLog& other);

  const std::map<CallKey, uint64_t>& calls() const { return calls_; }
  const std::map<TimingKey, std::vector<double>>& timings() const { return timings_; }

 private:
  std::map<CallKey, uint64_t> calls_;
  std::map<TimingKey, std::vector<double>> timings_;
};

// The value below which this share of the values lies (nearest rank). `values` must not be empty.
double Quantile(std::vector<double> values, double share);

}  // namespace chokepoint::jobs
