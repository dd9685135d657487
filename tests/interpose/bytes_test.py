# The bytes that the preload library records, beside those that the kernel returned to the same run under strace.
# Must not allow a tolerance that is not explained.
import unittest

import io_run

READ_AHEAD = 4096  # stdio reads ahead by at most a buffer: the kernel returned it, the program did not ask for it


@unittest.skipIf(io_run.missing('strace'), io_run.missing('strace'))
class Bytes(unittest.TestCase):
    def compare(self, kind, read_ahead=0, asynchronous=(0, 0)):
        with io_run.Run() as run:
            result = run.strace([io_run.program('io_calls'), kind, run.data])
            self.assertEqual((result.returncode, result.stderr), (0, b''), result.stderr)
            totals = run.totals()
            self.assertEqual(totals.lost(), 0)
            self.assertEqual(totals.written(run.data), run.kernel_written() - asynchronous[1])
            recorded = totals.read(run.data)
            kernel = run.kernel_read() - asynchronous[0]
            self.assertLessEqual(recorded, kernel)
            self.assertGreaterEqual(recorded, kernel - read_ahead)
            self.assertGreater(totals.read(run.data) + totals.written(run.data), 0)
            self.assertEqual(run.ring_files(), [])
            return totals, run.data

    def test_plain(self):
        totals, data = self.compare('plain')
        self.assertEqual(totals.bytes(data + '/plain.bin', 'read'), 3009000)
        self.assertEqual(totals.bytes(data + '/plain.bin', 'write'), 3007000)

    def test_small(self):
        totals, data = self.compare('small')
        self.assertEqual(totals.calls[data + '/small.bin', 'read'][0], 5000)

    def test_vectored(self):
        self.compare('vectored')

    def test_copies(self):
        self.compare('copies')

    def test_stdio(self):
        totals, data = self.compare('stdio', read_ahead=READ_AHEAD)
        self.assertEqual(totals.bytes(data + '/stdio.txt', 'stdio_write'), 500000 + 30000 + 12000 + 500)
        self.assertEqual(totals.bytes(data + '/stdio.txt', 'stdio_read'), 542000)
        self.assertEqual(totals.bytes(data + '/stdio.txt', 'read', 'write'), 0)

    def test_duplicates(self):
        self.compare('duplicates', read_ahead=READ_AHEAD)

    def test_durable(self):
        totals, data = self.compare('durable')
        temporary, final = data + '/model.pt.tmp', data + '/model.pt'
        self.assertEqual(totals.calls[temporary, 'sync'][0], 2)
        self.assertEqual(totals.calls[temporary, 'allocate'][0], 2)
        self.assertEqual(totals.calls[data, 'sync'][0], 1, 'the directory was synced')
        self.assertIn([temporary, final], [row[1:3] for row in totals.rows['rename']])
        classes = {row[1]: row[2] for row in totals.rows['file']}
        self.assertEqual(classes[data + '/latest'], '2', 'a commit marker')

    def test_mapped(self):
        totals, data = self.compare('mapped')
        self.assertEqual([row[1:] for row in totals.rows['map']], [[data + '/mapped.bin', str(4 << 20)]])
        gaps = int(totals.rows['coverage'][0][1])
        self.assertEqual(gaps & 1, 1, 'mapped files are a reason for a gap')

    def test_numbered(self):
        totals, _ = self.compare('numbered')
        self.assertEqual(int(totals.rows['coverage'][0][1]) & 4, 4)

    def test_posix_aio(self):
        # glibc's helper thread moves the bytes inside libc; the requests are recorded instead.
        with io_run.Run() as run:
            result = run.strace([io_run.program('io_calls'), 'aio', run.data])
            self.assertEqual(result.returncode, 0, result.stderr)
            totals = run.totals()
            self.assertEqual(totals.bytes(run.data + '/aio.bin', 'async_write'), run.kernel_written())
            self.assertEqual(totals.bytes(run.data + '/aio.bin', 'async_read'), run.kernel_read())
            self.assertEqual((run.kernel_read(), run.kernel_written()), (50000, 700000))

    def test_relative_paths_have_one_name(self):
        totals, data = self.compare('relative')
        self.assertEqual(totals.bytes(data + '/below/relative.bin', 'read'), 313000)

    def test_many_small_files_are_folded(self):
        totals, data = self.compare('many_small')
        self.assertEqual(totals.read(data), 600 * 2000)

    def test_errors(self):
        totals, data = self.compare('errors')
        self.assertEqual(totals.calls[data + '/errors.bin', 'read'][2], 2)
        self.assertEqual(totals.calls[data + '/errors.bin', 'write'][2], 1)


if __name__ == '__main__':
    unittest.main()
