# Programs that people use: the bytes recorded beside those that the kernel returned, in the same run under strace.
# Must skip with the reason when a program is missing, and allow only differences that are explained.
import os
import subprocess
import textwrap
import unittest

import io_run

MEGABYTE = 1 << 20
READ_AHEAD = 64 * 1024
PYTHON = '/usr/bin/python3'


def has_module(name):
    return subprocess.run([PYTHON, '-c', f'import {name}'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={key: value for key, value in os.environ.items() if key != 'LD_PRELOAD'}).returncode == 0


@unittest.skipIf(io_run.missing('strace'), io_run.missing('strace'))
class Workloads(unittest.TestCase):
    def exact(self, command, read_ahead=0, prepare=None, least=MEGABYTE):
        with io_run.Run() as run:
            if prepare is not None:
                prepare(run.data)
            command = [word.replace('DATA', run.data) for word in command]
            result = run.strace(command)
            self.assertEqual(result.returncode, 0, result.stderr)
            totals = run.totals()
            self.assertEqual(totals.lost(), 0)
            self.assertEqual(totals.written(run.data), run.kernel_written(), 'written')
            self.assertLessEqual(totals.read(run.data), run.kernel_read(), 'read')
            self.assertGreaterEqual(totals.read(run.data), run.kernel_read() - read_ahead, 'read')
            self.assertGreaterEqual(run.kernel_read() + run.kernel_written(), least)
            return totals, run.data

    def needs(self, *names):
        if io_run.missing(*names):
            self.skipTest(io_run.missing(*names))

    def python(self, program, modules=(), **more):
        if not os.path.exists(PYTHON):
            self.skipTest(f'{PYTHON} is not installed')
        for module in modules:
            if not has_module(module):
                self.skipTest(f'{PYTHON} has no module {module}')
        return self.exact([PYTHON, '-c', 'import os; os.chdir("DATA")\n' + textwrap.dedent(program)], **more)

    @staticmethod
    def make_file(directory, name='from.bin', size=4 * MEGABYTE):
        with open(os.path.join(directory, name), 'wb') as out:
            out.write(os.urandom(size))

    def make_tree(self, directory):
        os.mkdir(os.path.join(directory, 'tree'))
        for i in range(40):
            self.make_file(directory, f'tree/sample_{i}.bin', 50000)

    def test_cp(self):
        self.exact(['cp', 'DATA/from.bin', 'DATA/to.bin'], prepare=self.make_file)

    def test_dd(self):
        self.exact(['dd', 'if=DATA/from.bin', 'of=DATA/to.bin', 'bs=64k', 'status=none', 'conv=fsync'], prepare=self.make_file)

    def test_cat_through_a_shell(self):
        self.exact(['sh', '-c', 'cat DATA/from.bin > DATA/to.bin'], prepare=self.make_file)

    def test_tar(self):
        self.needs('tar')
        self.exact(['tar', 'cf', 'DATA/out.tar', '-C', 'DATA', 'tree'], prepare=self.make_tree)

    def test_rsync(self):
        self.needs('rsync')
        self.exact(['rsync', '-a', 'DATA/tree/', 'DATA/copy/'], prepare=self.make_tree)

    def test_python_files(self):
        self.python('''
            data = os.urandom(1 << 20)
            with open("plain.bin", "wb") as out:
                for _ in range(4): out.write(data)
            with open("plain.bin", "rb") as file: assert len(file.read()) == 4 << 20
            import shutil; shutil.copy("plain.bin", "copied.bin")
            with open("lines.log", "w") as out:
                for i in range(20000): out.write("a line of text %d\\n" % i)
            with open("lines.log") as file: assert sum(1 for _ in file) == 20000
            fd = os.open("vectors.bin", os.O_RDWR | os.O_CREAT)
            os.writev(fd, [data, data]); os.pwrite(fd, data, 10); os.preadv(fd, [bytearray(1000), bytearray(5000)], 5)
            os.fsync(fd); os.close(fd); os.rename("vectors.bin", "renamed.bin")
        ''')

    def test_python_workers_that_leave_by_os_exit(self):
        totals, data = self.python('''
            import multiprocessing
            def work(i):
                with open(f"worker{i}.bin", "wb") as out: out.write(bytes(300000))
                os._exit(0)
            context = multiprocessing.get_context("fork")
            open("parent.bin", "wb").write(bytes(500000))
            workers = [context.Process(target=work, args=(i,)) for i in range(4)]
            [worker.start() for worker in workers]; [worker.join() for worker in workers]
        ''')
        self.assertEqual([totals.bytes(f'{data}/worker{i}.bin', 'write') for i in range(4)], [300000] * 4)

    def test_python_subprocesses(self):
        self.python('''
            import subprocess
            open("from.bin", "wb").write(bytes(2 << 20))
            kept = open("kept.bin", "wb", buffering=0); kept.write(bytes(400000))
            for i in range(5): subprocess.run(["dd", "if=from.bin", f"of=to{i}.bin", "bs=100k", "status=none"], check=True)
            kept.write(bytes(400000)); kept.close()
        ''')

    def test_numpy(self):
        self.python('''
            import numpy
            array = numpy.arange(1 << 19, dtype=numpy.float64)
            numpy.save("array.npy", array); array.tofile("raw.bin"); numpy.savez("arrays.npz", a=array, b=array)
            assert numpy.load("array.npy").sum() == array.sum()
            assert numpy.fromfile("raw.bin").sum() == array.sum()
            assert numpy.load("arrays.npz")["a"].sum() == array.sum()
        ''', modules=['numpy'], read_ahead=READ_AHEAD)

    def test_h5py(self):
        self.python('''
            import h5py, numpy
            with h5py.File("data.h5", "w") as file: file["x"] = numpy.zeros(1 << 19)
            with h5py.File("data.h5", "r") as file: assert file["x"][:].sum() == 0
        ''', modules=['h5py'], read_ahead=READ_AHEAD)

    def test_torch_save(self):
        self.python('''
            import io, torch
            state = {"w": torch.zeros(1 << 20)}
            torch.save(state, "zip.pt"); torch.save(state, "legacy.pt", _use_new_zipfile_serialization=False)
            with open("object.pt", "wb") as out: torch.save(state, out); out.flush(); os.fsync(out.fileno())
            for name in ("zip.pt", "legacy.pt", "object.pt"): torch.load(name)
        ''', modules=['torch'], read_ahead=READ_AHEAD)

    def fio(self, engine, **more):
        self.needs('fio')
        return self.exact(['fio', '--name=job', '--directory=DATA', f'--ioengine={engine}', '--rw=randrw', '--size=2m', '--bs=16k',
                           '--output=/dev/null', '--thread'], **more)

    def test_fio_psync(self):
        self.fio('psync', read_ahead=READ_AHEAD)

    def test_fio_libaio_is_recorded_as_requests(self):
        self.needs('fio')
        with io_run.Run() as run:
            result = run.run(['fio', '--name=job', f'--directory={run.data}', '--ioengine=libaio', '--rw=write', '--size=4m',
                              '--bs=64k', '--output=/dev/null', '--thread'])
            if b'engine libaio not loadable' in result.stderr:
                self.skipTest('fio has no libaio engine here')
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(run.totals().under(run.data, 'async_write'), 4 * MEGABYTE)

    def test_fio_io_uring_is_a_gap(self):
        self.needs('fio')
        with io_run.Run() as run:
            result = run.run(['fio', '--name=job', f'--directory={run.data}', '--ioengine=io_uring', '--rw=write', '--size=4m',
                              '--bs=64k', '--output=/dev/null', '--thread'])
            if result.returncode != 0:
                self.skipTest('io_uring is not available here')
            gaps = [int(row[1]) for row in run.totals().rows['coverage']]
            self.assertTrue(any(gap & 2 for gap in gaps), gaps)


if __name__ == '__main__':
    unittest.main()
