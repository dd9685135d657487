// Runs all detectors and puts the costly answers first.
// Must not know what any of them looks for.
#include "tools/detect/detector.h"

#include <algorithm>

#include "tools/detect/detectors.h"

namespace chokepoint::tools {

const std::vector<Detector>& AllDetectors() {
  static const std::vector<Detector> detectors = {
#define DETECTOR(file, name, title) {#file, title, Detect##name},
#include "tools/detect/detectors.def"
#undef DETECTOR
  };
  return detectors;
}

std::vector<Finding> RunDetectors(const Timeline& timeline) {
  std::vector<Finding> findings;
  for (const Detector& detector : AllDetectors()) {
    Finding finding = detector.run(timeline);
    finding.id = detector.id;
    std::replace(finding.id.begin(), finding.id.end(), '_', '-');
    finding.title = detector.title;
    if (timeline.duration_ns > 0)
      finding.wall_share = finding.lost_ns / static_cast<double>(timeline.duration_ns);
    findings.push_back(std::move(finding));
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    const bool a_problem = a.verdict == Verdict::kProblem;
    const bool b_problem = b.verdict == Verdict::kProblem;
    return a_problem != b_problem ? a_problem : a_problem && a.lost_ns > b.lost_ns;
  });
  return findings;
}

}  // namespace chokepoint::tools
