// The words for enumerations, the same in text and JSON.
// Must not hold sentences.
#pragma once

#include "tools/report/report.h"

namespace chokepoint::tools {

inline const char* Word(Verdict verdict) {
  return verdict == Verdict::kProblem ? "problem" : verdict == Verdict::kOk ? "ok" : "no_data";
}
inline const char* Word(Confidence confidence) {
  return confidence == Confidence::kHigh     ? "high"
         : confidence == Confidence::kMedium ? "medium"
                                             : "low";
}
inline const char* Word(TimeSource source) {
  switch (source) {
    case TimeSource::kGpu:
      return "gpu";
    case TimeSource::kHost:
      return "host";
    case TimeSource::kProxy:
      return "proxy";
    case TimeSource::kUnknown:
      return "unknown";
  }
  return "unknown";
}
inline const char* Word(WaitMethod method) {
  return method == WaitMethod::kStarts ? "starts" : "durations";
}
inline const char* Word(Unit unit) {
  switch (unit) {
    case Unit::kText:
      return "text";
    case Unit::kCount:
      return "count";
    case Unit::kNs:
      return "ns";
    case Unit::kBytes:
      return "bytes";
    case Unit::kShare:
      return "share";
  }
  return "text";
}

}  // namespace chokepoint::tools
