# A rank of a real NCCL job that kills itself is named, and the operation in which the others wait.
# Must not take long: CHOKEPOINT_TEST_KILLS runs more moments (default 2).
import os
import random
import sys

from rig import Rig, require

rig = Rig(sys.argv[1], sys.argv[2])
seed = int(os.environ.get('CHOKEPOINT_TEST_SEED', random.randrange(1000)))
random.seed(seed)
print(f'seed {seed}')
for moment in range(int(os.environ.get('CHOKEPOINT_TEST_KILLS', '2'))):
    rank, step = random.randrange(4), random.randrange(1, 25)
    status, _, report, _ = rig.run('--steps', '30', '--compute-ms', '3', '--fault', f'die:{rank}:{step}',
                                   '--keep-going-on-death', '--hang-timeout', '2')
    require(status == 3, f'the job ended with {status}, not 3: a rank died')
    require(report['principal'] == 'unfinished-operations', report['headline'])
    print(f'rank {rank} at step {step}: {report["headline"]}')
    require(f'Rank {rank} (' in report['headline'] and 'killed' in report['headline'], 'the rank is not named')
    require(' in AllReduce number ' in report['headline'] or ' in AllGather number ' in report['headline'],
            'the operation is not named')
    require(report['job']['ranks_recorded'] == 4 and report['loss']['damaged_bytes'] == 0, report['loss'])
    require(report['loss']['operations_missing'] == 0, report['loss'])
print('killed rank: ok')
