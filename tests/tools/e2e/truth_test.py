# The report of a real NCCL job against what the job itself counted and measured: counts and bytes exactly, bandwidths within 10 %.
# Must not compare times of different runs: a machine that is busy makes both slow.
import collections
import sys

from rig import Rig, require, rows

ATTEMPTS = 4  # of the bandwidth comparison: scheduling noise hits the two clocks at different moments
TOLERANCE = 0.10
MIN_BYTES = 1 << 20  # below, waking up is most of what the job measures


def check_counts(truth, report):
    calls = collections.Counter()
    for rank in truth:
        for timing in rank['timings']:
            calls[timing['operation'], timing['algbw_bytes']] += timing['count']
    require(len(calls) >= 5, f'the job did too little: {calls}')
    for (function, size), records in sorted(calls.items()):
        found = [row for row in rows(report, function) if row['min_bytes'] <= size <= row['max_bytes']]
        require(all(row['min_bytes'] == row['max_bytes'] for row in found), f'{function} {size}: sizes are mixed')
        seen = sum(row['records'] for row in found)
        groups = sum(row['operations'] for row in found)
        total = sum(row['total_bytes'] for row in found)
        print(f'{function:14} {size:9} bytes: job {records:5} calls, report {seen:5} records, {groups} operations')
        require(seen == records, f'{function} {size}: {seen} records, the job made {records} calls')
        require(groups * len(truth) == records, f'{function} {size}: {groups} operations for {records} calls')
        require(total == groups * size, f'{function} {size}: {total} bytes for {groups} operations')
    recorded = sum(row['records'] for table in report['communicators'] for row in table['operations'])
    require(recorded == sum(calls.values()), f'{recorded} records, the job made {sum(calls.values())} calls')
    require(report['loss']['nothing_lost'], report['loss'])
    require(report['job']['ranks_recorded'] == len(truth), report['job'])
    for row in report['ranks']:
        parts = row['startup_ns'] + row['outside_ns'] + row['waiting_ns'] + row['transfer_ns']
        require(parts == row['run_ns'], f'the parts of {row} do not add up')


def largest_difference(truth, report):
    measured = collections.defaultdict(list)
    for rank in truth:
        for timing in rank['timings']:
            if timing['algbw_bytes'] >= MIN_BYTES:
                measured[timing['operation'], timing['algbw_bytes']].append(timing['median_s'])
    largest = 0
    for (function, size), medians in sorted(measured.items()):
        job = size / (sum(medians) / len(medians)) / 1e9
        said = [row['seen']['algbw_gb_per_s'] for row in rows(report, function) if row['min_bytes'] == size]
        require(len(said) == 1, f'{function} {size}: {len(said)} rows')
        difference = said[0] / job - 1
        print(f'{function:14} {size:9} bytes: job {job:.4f} GB/s, report {said[0]:.4f} GB/s, {difference:+.1%}')
        largest = max(largest, abs(difference))
    return largest


rig = Rig(sys.argv[1], sys.argv[2])
differences = []
for attempt in range(ATTEMPTS):
    status, truth, report, _ = rig.run('--ranks', '4', '--nodes', '2', '--steps', '60')
    require(status == 0 and len(truth) == 4, f'the job ended with {status}')
    check_counts(truth, report)
    differences.append(largest_difference(truth, report))
    if differences[-1] <= TOLERANCE:
        break
require(min(differences) <= TOLERANCE, f'bandwidths differ by {differences}')
print('truth: ok')
