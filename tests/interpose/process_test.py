# Programs that fork, exec, exit, are killed, cancel, jump and close everything: they must not notice, and no byte may be lost.
# Must compare each program with itself without the library.
import unittest

import io_run


class Process(unittest.TestCase):
    def both(self, kind, ended=True, program='io_process'):
        """Runs with and without; the same output and status. Returns the traces' totals and the data directory."""
        with io_run.Run() as bare, io_run.Run() as run:
            without = bare.run([io_run.program(program), kind, bare.data], LD_PRELOAD=None)
            result = run.run([io_run.program(program), kind, run.data])
            self.assertEqual(result.stdout.decode().replace(run.data, ''), without.stdout.decode().replace(bare.data, ''))
            self.assertEqual((result.returncode, result.stderr), (without.returncode, without.stderr))
            totals = run.totals()
            self.assertEqual(totals.lost(), 0)
            if ended:
                self.assertEqual({row[2] for row in totals.rows['trace']}, {'1'}, 'each trace has its end')
                self.assertEqual(run.ring_files(), [])
            self.files = {row[1][len(run.data) + 1:] for row in totals.rows['file'] if row[1].startswith(run.data)}
            self.data = run.data
            return totals

    def written(self, totals, name):
        return totals.bytes(f'{self.data}/{name}', 'write')

    def test_fork(self):
        totals = self.both('fork')
        self.assertEqual([self.written(totals, name) for name in ('parent.bin', 'child.bin', 'parent2.bin')],
                         [500000, 700000, 100000])
        pids = {row[1]: row for row in totals.rows['origin']}
        parents = {row[0] for row in totals.rows['trace']}
        child = [row for row in totals.rows['origin'] if row[1] == '2']
        self.assertEqual(len(child), 1, pids)
        self.assertIn(int(child[0][2]), parents, 'the child names its parent')

    def test_every_way_to_leave(self):
        totals = self.both('fork_exit')
        self.assertEqual([self.written(totals, f'worker{i}.bin') for i in range(4)], [250000] * 4)

    def test_killed_child_loses_nothing(self):
        totals = self.both('fork_killed', ended=False)
        self.assertEqual(self.written(totals, 'killed.bin'), 3000000)

    def test_raw_fork_and_clone(self):
        totals = self.both('raw_fork')
        self.assertEqual([self.written(totals, name) for name in ('parent.bin', 'raw.bin', 'cloned.bin')],
                         [500000, 600000, 650000])
        totals = self.both('clone')
        self.assertEqual(self.written(totals, 'clone_main.bin'), 123000)
        self.assertEqual(self.written(totals, 'parent2.bin'), 100000)

    def test_vfork_children_leave_the_parent_alone(self):
        totals = self.both('vfork')
        self.assertEqual(self.written(totals, 'kept.bin'), 500000)

    def test_spawn(self):
        totals = self.both('spawn')
        self.assertEqual(self.written(totals, 'written.bin'), 800000)

    def test_exec(self):
        totals = self.both('exec', ended=False)
        self.assertEqual([self.written(totals, name) for name in ('before.bin', 'failed.bin', 'written.bin')],
                         [400000, 50000, 800000])

    def test_a_thousand_threads(self):
        totals = self.both('threads', program='io_hazards')
        self.assertEqual(sum(self.written(totals, f'thread{i}.bin') for i in range(1000)), 3000000)

    def test_signal_handlers(self):
        totals = self.both('signals', program='io_hazards')
        self.assertEqual(totals.bytes(self.data + '/interrupted.bin', 'read'), 2000000)
        self.assertEqual(totals.calls[self.data + '/interrupted.bin', 'read'][0], 200000)

    def test_long_jump(self):
        totals = self.both('long_jump', program='io_hazards')
        self.assertEqual(self.written(totals, 'jump.bin'), 377000)
        self.assertEqual(self.written(totals, 'after_jump.bin'), 33000)

    def test_cancellation(self):
        self.assertEqual(self.written(self.both('cancel', program='io_hazards'), 'cancel.bin'), 310000)

    def test_close_everything(self):
        totals = self.both('close_all', program='io_hazards')
        self.assertEqual([self.written(totals, f'mine{i}.bin') for i in range(40)], [10000] * 40)

    def test_few_descriptors(self):
        totals = self.both('few_descriptors', program='io_hazards')
        self.assertEqual(self.written(totals, 'few.bin') + self.written(totals, 'few2.bin'), 600000)

    def test_closed_standard_descriptors(self):
        totals = self.both('closed_standard', program='io_hazards')
        self.assertEqual(self.written(totals, 'no_stderr.bin'), 400000)

    def test_deep_recursion(self):
        self.assertEqual(self.written(self.both('deep', program='io_hazards'), 'deep.bin'), 350000)

    def test_nothing_is_different(self):
        self.both('identity', program='io_hazards')

    def test_main_thread_leaves_first(self):
        totals = self.both('main_leaves', program='io_hazards')
        self.assertEqual(self.written(totals, 'after_main.bin'), 320000)

    def test_setuid_with_the_recorder_running(self):
        totals = self.both('set_user', program='io_hazards')
        self.assertEqual(self.written(totals, 'before.bin'), 300000)


class Dormant(unittest.TestCase):
    """Processes that do nothing worth recording leave nothing."""

    def silent(self, command, **more):
        with io_run.Run() as run:
            result = run.run(command, CHOKEPOINT_IO_MIN_KB=None, **more)
            self.assertEqual((result.returncode, result.stderr), (0, b''))
            self.assertEqual(run.totals().rows['trace'], [], 'no trace')
            return result

    def test_shell(self):
        self.silent(['sh', '-c', 'for i in 1 2 3; do echo $i; done; ls / > /dev/null; cat /etc/passwd > /dev/null'])

    def test_a_shell_that_writes_much(self):
        self.silent(['sh', '-c', 'i=0; while [ $i -lt 3000 ]; do echo ' + 'x' * 200 + '; i=$((i+1)); done > ./out'
                     ' 2> /dev/null; rm -f ./out'])

    def test_small_program(self):
        with io_run.Run() as data:
            self.silent(['cp', '/etc/passwd', data.data])

    def test_disabled(self):
        with io_run.Run() as run:
            result = run.run([io_run.program('io_calls'), 'plain', run.data], CHOKEPOINT_DISABLE='1')
            self.assertEqual(result.returncode, 0)
            self.assertEqual(run.totals().rows['trace'], [])

    def test_no_thread_while_dormant(self):
        result = self.silent(['sh', '-c', 'exec cat /proc/self/status'])
        threads = [line for line in result.stdout.decode().splitlines() if line.startswith('Threads:')]
        self.assertEqual(threads[0].split()[1], '1')

    def test_early_bytes_are_counted_when_it_wakes(self):
        with io_run.Run() as run:
            result = run.run([io_run.program('io_calls'), 'small', run.data], CHOKEPOINT_IO_MIN_KB='300')
            self.assertEqual(result.returncode, 0)
            totals = run.totals()
            self.assertEqual(totals.bytes(run.data + '/small.bin', 'write'), 400000)
            self.assertEqual(totals.bytes(run.data + '/small.bin', 'read'), 450000)


if __name__ == '__main__':
    unittest.main()
