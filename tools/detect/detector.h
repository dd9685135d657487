// What a detector is: one question, answered by a pure function from the Timeline to a Finding. The
// list of all detectors. Must not print: findings are data; renderers say them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tools/model/timeline.h"

namespace chokepoint::tools {

enum class Verdict : std::uint8_t { kProblem, kOk, kNoData };
enum class Confidence : std::uint8_t { kLow, kMedium, kHigh };

// What a column of evidence holds; renderers choose the unit's prefix.
enum class Unit : std::uint8_t { kText, kCount, kNs, kBytes, kShare };

struct Column {
  std::string name;
  Unit unit = Unit::kText;
};

using Value = std::variant<std::string, double>;

struct EvidenceTable {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;
};

struct Finding {
  std::string id;  // docs/detectors/<id>.md
  std::string title;
  Verdict verdict = Verdict::kNoData;
  std::string sentence;   // the answer, with its number
  double lost_ns = 0;     // of the run's time
  double wall_share = 0;  // lost_ns as share of it
  Confidence confidence = Confidence::kLow;
  std::vector<EvidenceTable> evidence;
  std::string refuted_by;  // what would show that this is wrong
  std::string next_step;   // what to do now
};

struct Detector {
  const char* id;
  const char* title;
  Finding (*run)(const Timeline&);
};

// One line each, in detectors.def.
const std::vector<Detector>& AllDetectors();

// Every detector's answer: problems first, by time lost; then the rest in the order of the list.
std::vector<Finding> RunDetectors(const Timeline& timeline);

}  // namespace chokepoint::tools
