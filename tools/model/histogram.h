// A log-linear histogram of durations with quantiles within 1 %: 64 steps per power of two, memory
// only for the range in use. Must not be used where a value has to be exact: minimum, maximum, sum
// and count are, quantiles are not.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace chokepoint::tools {

class Histogram {
 public:
  // Negative values count as 0.
  void Add(std::int64_t value_ns) {
    const std::uint64_t value = value_ns < 0 ? 0 : static_cast<std::uint64_t>(value_ns);
    const std::uint32_t index = IndexOf(value);
    if (counts_.empty()) {
      first_index_ = index;
      min_ = max_ = value;
    }
    if (index < first_index_) {
      counts_.insert(counts_.begin(), first_index_ - index, 0);
      first_index_ = index;
    }
    if (index - first_index_ >= counts_.size()) counts_.resize(index - first_index_ + 1, 0);
    ++counts_[index - first_index_];
    ++count_;
    sum_ += static_cast<double>(value);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  void Merge(const Histogram& other) {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    const std::uint32_t first = std::min(first_index_, other.first_index_);
    const std::size_t end =
        std::max(first_index_ + counts_.size(), other.first_index_ + other.counts_.size());
    std::vector<std::uint32_t> merged(end - first, 0);
    for (std::size_t i = 0; i < counts_.size(); ++i) merged[first_index_ - first + i] += counts_[i];
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
      merged[other.first_index_ - first + i] += other.counts_[i];
    counts_ = std::move(merged);
    first_index_ = first;
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  std::uint64_t count() const { return count_; }
  double sum_ns() const { return sum_; }
  double mean_ns() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double min_ns() const { return static_cast<double>(min_); }
  double max_ns() const { return static_cast<double>(max_); }

  // The value below which `share` of the values lie; 0 when there are none.
  double Quantile(double share) const {
    if (count_ == 0) return 0;
    const double target = share * static_cast<double>(count_);
    double seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= target) {
        return std::clamp(MiddleOf(first_index_ + static_cast<std::uint32_t>(i)), min_ns(),
                          max_ns());
      }
    }
    return max_ns();
  }

 private:
  static constexpr std::uint32_t kSubBits = 6;
  static constexpr std::uint32_t kSub = 1u << kSubBits;

  // Values below kSub have a step each; above, 64 steps per power of two.
  static std::uint32_t IndexOf(std::uint64_t value) {
    if (value < kSub) return static_cast<std::uint32_t>(value);
    const std::uint32_t exponent = static_cast<std::uint32_t>(std::bit_width(value)) - 1;
    const std::uint32_t step = static_cast<std::uint32_t>(value >> (exponent - kSubBits)) - kSub;
    return (exponent - kSubBits + 1) * kSub + step;
  }
  static double MiddleOf(std::uint32_t index) {
    if (index < kSub) return index;
    const std::uint32_t shift = index / kSub - 1;
    const double low =
        static_cast<double>((static_cast<std::uint64_t>(kSub) + index % kSub) << shift);
    return low + static_cast<double>(std::uint64_t{1} << shift) / 2;
  }

  std::uint32_t first_index_ = 0;
  std::vector<std::uint32_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::uint64_t min_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace chokepoint::tools
