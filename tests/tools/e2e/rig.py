# Runs the real NCCL job of the demo under `chokepoint run` and reads its truth files and its report.
# Must not judge: the tests do.
import glob
import json
import os
import subprocess
import sys
import tempfile

SKIP = 77


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(SKIP)


class Rig:
    def __init__(self, command, demo):
        self.command, self.demo = command, demo
        for part in ('softgpu-run', 'training_job', 'nccl_library'):
            if not os.path.exists(os.path.join(demo, part)):
                skip(f'{demo}/{part} is not built (no NCCL, or CHOKEPOINT_BUILD_DEMO is off)')
        with open(os.path.join(demo, 'nccl_library')) as file:
            nccl = os.path.dirname(file.read().strip())
        self.environment = dict(os.environ, LD_LIBRARY_PATH=nccl)
        for name in ('CHOKEPOINT_DIR', 'NCCL_PROFILER_PLUGIN', 'NCCL_NET_PLUGIN', 'COLUMNS'):
            self.environment.pop(name, None)

    def run(self, *arguments):
        """Runs the job once; returns (exit status, truth by rank, report, standard error)."""
        with tempfile.TemporaryDirectory(prefix='chokepoint-e2e-') as folder:
            traces, job = os.path.join(folder, 'traces'), os.path.join(folder, 'job')
            ended = subprocess.run(
                [self.command, 'run', '--no-io', '--out', traces, '--', os.path.join(self.demo, 'softgpu-run'),
                 os.path.join(self.demo, 'training_job'), '--out', job, *arguments],
                env=self.environment, capture_output=True, text=True, timeout=150, check=False)
            print(ended.stdout)
            if not glob.glob(traces + '/*.cpt'):
                print(ended.stderr)
                sys.exit('no traces were written')
            report = subprocess.run([self.command, 'report', traces, '--format', 'json'], capture_output=True, text=True,
                                    timeout=60, check=True)
            truth = []
            for path in sorted(glob.glob(job + '/truth-rank*.json')):
                with open(path) as file:
                    truth.append(json.load(file))
            return ended.returncode, truth, json.loads(report.stdout), ended.stderr


def rows(report, function):
    """The report's rows of one function, over all communicators."""
    return [row for table in report['communicators'] for row in table['operations'] if row['function'] == function]


def require(condition, message):
    if not condition:
        sys.exit(f'FAILED: {message}')
