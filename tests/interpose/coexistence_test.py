# Beside other libraries that take functions over: AddressSanitizer, allocators, a second I/O preload. And what it exports and needs.
# Must say why it skips.
import glob
import os
import re
import subprocess
import unittest

import io_run

HOOKS = os.path.join(os.path.dirname(__file__), '../../interpose/hooks.def')


def library(pattern):
    found = glob.glob('/usr/lib/*/' + pattern)
    return found[0] if found else None


class Coexistence(unittest.TestCase):
    def plain(self, preload, **more):
        with io_run.Run() as run:
            report = os.path.join(run.root, 'second')
            result = run.run([io_run.program('io_calls'), 'plain', run.data], LD_PRELOAD=preload,
                             SECOND_PRELOAD_REPORT=report, **more)
            self.assertEqual((result.returncode, result.stderr), (0, b''), result.stderr)
            totals = run.totals()
            self.assertEqual((totals.read(run.data), totals.written(run.data)), (3009000, 3007000))
            if os.path.exists(report):
                with open(report) as text:
                    return [int(word) for word in text.read().split()]
            return None

    def test_address_sanitizer(self):
        program = io_run.program('io_asan')
        if not os.path.exists(program):
            self.skipTest('a sanitizer build: its programs carry a sanitizer already')
        runtime = subprocess.run(['gcc', '-print-file-name=libasan.so'], stdout=subprocess.PIPE).stdout.decode().strip()
        if '/' not in runtime:
            self.skipTest('gcc has no libasan.so')
        with io_run.Run() as run:
            # The sanitizer must come first, as it demands itself.
            result = run.run([program, run.data], LD_PRELOAD=f'{os.path.realpath(runtime)}:{io_run.LIBRARY}')
            self.assertEqual((result.returncode, result.stderr), (0, b''), result.stderr)
            totals = run.totals()
            self.assertEqual(totals.written(run.data), 400000)
            self.assertEqual(totals.read(run.data), 201000)

    def test_allocators(self):
        tried = 0
        for pattern in ('libjemalloc.so.2', 'libtcmalloc_minimal.so.4'):
            allocator = library(pattern)
            if allocator is None:
                continue
            tried += 1
            self.plain(f'{allocator}:{io_run.LIBRARY}')
            self.plain(f'{io_run.LIBRARY}:{allocator}')
        if tried == 0:
            self.skipTest('neither jemalloc nor tcmalloc is installed')

    def test_second_preload_library_in_both_orders(self):
        second = io_run.program('libio_second_preload.so')
        if not os.path.exists(second):
            second = os.path.join(os.path.dirname(io_run.LIBRARY), 'libio_second_preload.so')
        for preload in (f'{second}:{io_run.LIBRARY}', f'{io_run.LIBRARY}:{second}'):
            # It knows read and write only: 3 000 000 bytes each.
            self.assertEqual(self.plain(preload), [3000000, 3000000], preload)


class Exports(unittest.TestCase):
    def dynamic(self, *options):
        return subprocess.run(['nm', '-D', *options, io_run.LIBRARY], stdout=subprocess.PIPE, check=True).stdout.decode()

    def test_exactly_the_hooks(self):
        with open(HOOKS) as text:
            wanted = set(re.findall(r'^(?:HOOK|LATE)\([^,]+, (\w+)', text.read(), re.M))
        with open(HOOKS) as text:
            wanted |= set(re.findall(r'^(?:ALIAS|THUNK)\((\w+)', text.read(), re.M))
        exported = {line.split()[2] for line in self.dynamic('--defined-only').splitlines()}
        self.assertEqual(exported, wanted)

    def test_an_old_libc_is_enough(self):
        versions = re.findall(r'@GLIBC_(\d+)\.(\d+)', self.dynamic('--undefined-only'))
        self.assertTrue(versions)
        self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), (2, 28))

    def test_needs_nothing_but_libc(self):
        needed = re.findall(r'NEEDED\s+(\S+)', subprocess.run(['objdump', '-p', io_run.LIBRARY], stdout=subprocess.PIPE,
                                                              check=True).stdout.decode())
        self.assertEqual(needed, ['libc.so.6'])


if __name__ == '__main__':
    unittest.main()
