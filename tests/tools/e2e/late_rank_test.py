# A rank made slow in a real NCCL job is named, with the time that it costs.
# Must not test thresholds: late_rank_test.cc does.
import sys

from rig import Rig, require

RANK = 2

rig = Rig(sys.argv[1], sys.argv[2])
status, truth, report, errors = rig.run('--steps', '40', '--fault', f'late-rank:{RANK}:40')
require(status == 0, f'the job ended with {status}')
injected_s = truth[RANK]['fault']['injected_here_s']
finding = next(finding for finding in report['findings'] if finding['id'] == 'late-rank')
print(f'injected {injected_s:.2f} s, found {finding["lost_ns"] / 1e9:.2f} s: {finding["sentence"]}')
require(report['principal'] == 'late-rank', report['headline'])
require(finding['sentence'].startswith(f'Rank {RANK} ('), finding['sentence'])
require(0.8 * injected_s <= finding['lost_ns'] / 1e9 <= 1.25 * injected_s, 'the time lost is wrong')
require(report['latest_rank']['rank'] == f'rank {RANK}', report['latest_rank'])
require(report['slowest_rank']['rank'] == f'rank {RANK}', report['slowest_rank'])
require(f'Rank {RANK} (' in errors, 'the summary of chokepoint run does not name the rank')
print('late rank: ok')
