// Success, or an error with one clear sentence: file, place, reason, what to do.
// For the read side and the tools only; the guest side counts instead of reporting.
#pragma once

#include <string>
#include <utility>

namespace chokepoint::trace {

class Status {
 public:
  Status() = default;
  static Status Error(std::string message) {
    Status status;
    status.message_ = std::move(message);
    return status;
  }
  bool ok() const { return message_.empty(); }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

}  // namespace chokepoint::trace
