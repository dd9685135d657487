# Runs a program under the preload library, with or without strace, and reads the traces back.
# Must not judge: the tests do.
import collections
import os
import re
import shutil
import subprocess
import tempfile

LIBRARY = os.environ['CHOKEPOINT_IO_LIBRARY']
TOTALS = os.environ['IO_TOTALS']
PROGRAMS = os.environ['IO_PROGRAMS']

READS = {'read', 'pread64', 'readv', 'preadv', 'preadv2'}
WRITES = {'write', 'pwrite64', 'writev', 'pwritev', 'pwritev2'}
COPIES = {'sendfile', 'copy_file_range', 'splice'}
TRACED = sorted(READS | WRITES | COPIES)
FD = r'(-?\d+)<([^>]*)>'


class Totals:
    """What the traces of one run say. `calls` maps (path, call) to [calls, bytes, failed]."""

    def __init__(self, text):
        self.calls = collections.defaultdict(lambda: [0, 0, 0])
        self.rows = collections.defaultdict(list)
        for line in text.splitlines():
            kind, pid, *fields = line.split('\t')
            self.rows[kind].append([int(pid)] + fields)
            if kind == 'call':
                row = self.calls[fields[0], fields[1]]
                for i in range(3):
                    row[i] += int(fields[2 + i])

    def bytes(self, path, *calls):
        return sum(row[1] for (name, call), row in self.calls.items() if call in calls and name == path)

    def under(self, directory, *calls):
        return sum(row[1] for (name, call), row in self.calls.items()
                   if call in calls and name.startswith(directory + '/'))

    def read(self, directory):
        return self.under(directory, 'read', 'stdio_read')

    def written(self, directory):
        return self.under(directory, 'write', 'stdio_write')

    def lost(self):
        return sum(int(row[5]) for row in self.rows['trace'])


class Run:
    """One run in a directory of its own, removed at the end."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix='chokepoint-io-')
        self.data = os.path.join(self.root, 'data')
        self.traces = os.path.join(self.root, 'traces')
        os.mkdir(self.data)
        self.kernel = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        shutil.rmtree(self.root, ignore_errors=True)

    def environment(self, **more):
        env = dict(os.environ, LD_PRELOAD=LIBRARY, CHOKEPOINT_DIR=self.traces, CHOKEPOINT_IO_MIN_KB='0')
        env.update(more)
        return {key: value for key, value in env.items() if value is not None}

    def run(self, command, timeout=120, **more):
        return subprocess.run(command, env=self.environment(**more), timeout=timeout, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def strace(self, command, timeout=240, **more):
        """Runs under strace; self.kernel then maps a path to [read, written] as the kernel returned them."""
        log = os.path.join(self.root, 'strace')
        env = self.environment(**more)
        # strace itself is not to be recorded
        preload = [f'-E{key}={env.pop(key)}' for key in ('LD_PRELOAD',)]
        result = subprocess.run(['strace', '-ff', '-y', '-o', log, '-e', 'trace=' + ','.join(TRACED)] + preload + command,
                                env=env, timeout=timeout, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.kernel = collections.defaultdict(lambda: [0, 0])
        for name in os.listdir(self.root):
            if name.startswith('strace.'):
                with open(os.path.join(self.root, name), errors='replace') as lines:
                    for line in lines:
                        self.count(line)
        return result

    def count(self, line):
        match = re.match(r'(\w+)\((.*)\)\s+= (\d+)', line)
        if not match:
            return
        call, arguments, moved = match[1], match[2], int(match[3])
        ends = re.findall(FD, arguments)
        if not ends:
            return
        if call in COPIES:
            source, target = (ends[1], ends[0]) if call == 'sendfile' else (ends[0], ends[1])
            self.kernel[source[1]][0] += moved
            self.kernel[target[1]][1] += moved
        else:
            self.kernel[ends[0][1]][0 if call in READS else 1] += moved

    def kernel_read(self):
        return sum(row[0] for path, row in self.kernel.items() if path.startswith(self.data + '/'))

    def kernel_written(self):
        return sum(row[1] for path, row in self.kernel.items() if path.startswith(self.data + '/'))

    def totals(self):
        result = subprocess.run([TOTALS, self.traces], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if result.returncode != 0:
            raise AssertionError(result.stderr.decode())
        return Totals(result.stdout.decode())

    def ring_files(self):
        pids = {str(row[0]) for row in self.totals().rows['trace']}
        return [name for name in os.listdir('/dev/shm')
                if name.startswith('chokepoint-') and name.split('-')[2] in pids]


def program(name):
    return os.path.join(PROGRAMS, name)


def missing(*names):
    """Why a test cannot run here, or None."""
    for name in names:
        if shutil.which(name) is None:
            return f'{name} is not installed'
    return None
