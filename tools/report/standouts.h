// Which rank stands out: the one with the most work of its own, and the one that comes last.
// Must not name anybody by a difference that could be chance: then it says so.
#pragma once

#include "tools/model/timeline.h"
#include "tools/report/report.h"

namespace chokepoint::tools {

Standout SlowestRank(const Timeline& timeline);
// `late_rank`: the detector's answer. The two must not disagree.
Standout LatestRank(const Timeline& timeline, const Finding& late_rank);

}  // namespace chokepoint::tools
