# truth_test.py RUN JOB SCRATCH CASE: runs the training job and compares its truth files with what its options ask for.
# It must not use the job's own arithmetic: the expected counts are written down here.
import atexit
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

RANKS = 4
PROBLEMS = []


def expect(what, found, wanted):
    if found != wanted:
        PROBLEMS.append(f'{what}: {found!r} instead of {wanted!r}')


def run_job(*options, status=0):
    out = tempfile.mkdtemp(prefix=CASE + '-', dir=SCRATCH)
    atexit.register(shutil.rmtree, out)
    job = subprocess.run([RUN, JOB, '--out', out, *options], capture_output=True, text=True)
    print(job.stdout + job.stderr, flush=True)
    expect('exit status', job.returncode, status)
    truths = [json.load(open(path)) for path in sorted(glob.glob(out + '/truth-rank*.json'))]
    return out, job, truths


def calls(truth):
    return {(c['communicator'], c['function'], c['role'], c['bytes']): c['count'] for c in truth['calls']}


def case_counts():
    """Every call, byte and checkpoint of a plain job."""
    out, job, truths = run_job('--steps', '12', '--sizes', '4K,1M', '--checkpoint-every', '4', '--checkpoint-size', '64K',
                               '--compute-ms', '1')
    expect('truth files', [t['rank'] for t in truths], list(range(RANKS)))
    for truth in truths:
        expect('calls', calls(truth), {(0, 'AllReduce', 'bucket', 4 << 10): 12, (0, 'AllReduce', 'bucket', 1 << 20): 12,
                                       (0, 'AllReduce', 'barrier', 4): 36, (0, 'AllGather', 'all-gather', 256 << 10): 12})
        expect('sequences', {(s['function'], s['issued']) for s in truth['sequences']}, {('AllReduce', 60), ('AllGather', 12)})
        expect('checkpoints', (truth['checkpoints']['count'], truth['checkpoints']['bytes']), (3, 3 * 65536))
        expect('verification', (truth['verification']['checks'], truth['verification']['wrong_elements']), (9, 0))
        expect('steps', len(truth['steps']), 12)
        for timing in truth['timings']:
            expect('timed operations', timing['count'], 36 if timing['role'] == 'barrier' else 12)
            if not 0 < timing['median_s'] <= timing['p99_s']:
                PROBLEMS.append(f'median above p99: {timing}')
    files = sorted(os.path.basename(path) for path in glob.glob(out + '/checkpoint-*'))
    expect('checkpoint files left', files, sorted(f'checkpoint-{s}-rank{r}.bin' for s in (7, 11) for r in range(RANKS)))
    expect('files of unique ids left', glob.glob(out + '/nccl-id*'), [])


def case_everything():
    """Threads, communicators, groups and point-to-point operations together."""
    _, _, truths = run_job('--ranks', '2', '--nodes', '2', '--steps', '3', '--comms', '4', '--threads', '2', '--group',
                           '--alltoall', '--send-recv', '--no-compute', '--sizes', '4K,64K', '--verify-every', '1')
    for truth in truths:
        wanted = {}
        for comm in range(4):
            wanted |= {(comm, 'AllReduce', 'bucket', 4096): 3, (comm, 'AllReduce', 'bucket', 65536): 3,
                       (comm, 'AllReduce', 'barrier', 4): 12, (comm, 'AllGather', 'all-gather', 32768): 3,
                       (comm, 'Send', 'send-recv', 4096): 3, (comm, 'Recv', 'send-recv', 4096): 3,
                       (comm, 'Send', 'all-to-all', 32768): 6, (comm, 'Recv', 'all-to-all', 32768): 6}
        expect('calls', calls(truth), wanted)
        expect('wrong elements', truth['verification']['wrong_elements'], 0)
        expect('checks', truth['verification']['checks'], 3 * 4 * 5)


def case_late_rank():
    """The late rank computes longer; the others spend that time in barriers, it does not."""
    _, _, truths = run_job('--steps', '10', '--fault', 'late-rank:2:40', '--sizes', '4K')
    waits = [next(t['sum_s'] for t in truth['timings'] if t['role'] == 'barrier') for truth in truths]
    injected = [truth['fault']['injected_here_s'] for truth in truths]
    expect('ranks with an injected fault', [r for r in range(RANKS) if injected[r] > 0], [2])
    expect('the rank that waits least', waits.index(min(waits)), 2)
    for rank in (0, 1, 3):
        if waits[rank] - waits[2] < injected[2] / 2:
            PROBLEMS.append(f'rank {rank} waited {waits[rank]} s, rank 2 {waits[2]} s, injected {injected[2]} s')


def case_death():
    """A rank dies: the launcher ends the others and says so; no truth is claimed."""
    out, job, truths = run_job('--steps', '10', '--fault', 'die:1:5', status=3)
    expect('truth files', truths, [])
    expect('names the rank', 'rank 1 (process' in job.stderr and 'signal 9' in job.stderr, True)
    for child in json.load(open(out + '/ranks.json'))['ranks']:
        expect(f'process {child["pid"]} is gone', os.path.exists(f'/proc/{child["pid"]}'), False)


def case_hang():
    """A rank stops taking part: the job ends at its timeout."""
    run_job('--steps', '10', '--fault', 'hang:3:5', '--timeout', '6', status=4)


def case_bad_usage():
    """Each mistake is one line, with status 2."""
    for options in (['--ranks', '3', '--nodes', '2'], ['--no-such-option'], ['--steps'], ['--sizes', '1X'],
                    ['--fault', 'late-rank:x']):
        _, job, _ = run_job(*options, status=2)
        expect('lines on stderr', job.stderr.count('\n'), 1)


RUN, JOB, SCRATCH, CASE = sys.argv[1:]
globals()['case_' + CASE.replace('-', '_')]()
print('\n'.join(PROBLEMS) or f'truth: {CASE} ok')
sys.exit(1 if PROBLEMS else 0)
