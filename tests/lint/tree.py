# The files of the source tree that are ours, for the lint tests.
# Must not look into build folders.
import os
import subprocess
import sys

CODE = ('.cc', '.h', '.def', '.c')


def root():
    return sys.argv[1] if len(sys.argv) > 1 else os.getcwd()


def files(suffixes=None):
    """Paths relative to the root: git's list where there is git, else everything outside build folders."""
    git = subprocess.run(['git', '-C', root(), 'ls-files', '-co', '--exclude-standard'], capture_output=True, text=True)
    if git.returncode == 0:
        found = [path for path in git.stdout.split('\n') if path and os.path.exists(os.path.join(root(), path))]
    else:
        found = []
        for folder, folders, names in os.walk(root()):
            folders[:] = [name for name in folders if name not in ('build', '.git')]
            found += [os.path.relpath(os.path.join(folder, name), root()) for name in names]
    return sorted(path for path in found if suffixes is None or path.endswith(tuple(suffixes)))


def text(path):
    with open(os.path.join(root(), path), encoding='utf-8', errors='replace') as handle:
        return handle.read()


def finish(name, checked, problems):
    """Prints the problems and ends the test. A check that looked at nothing has failed."""
    for problem in problems:
        print(problem)
    print(f'{name}: {checked} checked, {len(problems)} problems')
    sys.exit(1 if problems or checked == 0 else 0)
