# What the library shows and needs: the listed names, libc alone, no glibc newer than 2.28, never unmapped.
# Must not accept a name too many or too few.
import re
import subprocess
import sys

library = sys.argv[1]
problems = []


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


expected = {f'ncclProfiler_v{n}' for n in range(1, 8)} | {f'ncclNetPlugin_v{n}' for n in range(4, 13)}
shown = {line.split()[-1].split('@')[0] for line in output('nm', '-D', '--defined-only', library).splitlines()}
if shown != expected:
    problems.append(f'exports: too many {sorted(shown - expected)}, too few {sorted(expected - shown)}')

dynamic = output('readelf', '-dW', library)
needed = set(re.findall(r'NEEDED.*\[(.*)\]', dynamic)) - {'ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'}
if needed != {'libc.so.6'}:
    problems.append(f'needs {sorted(needed)}; libc.so.6 alone is allowed')
if re.findall(r'SONAME.*\[(.*)\]', dynamic) != ['libnccl-net-chokepoint.so']:
    problems.append('the soname is what the constructor names to NCCL: libnccl-net-chokepoint.so')
for flag in ('NODELETE', 'NOW'):
    if flag not in dynamic:
        problems.append(f'not linked with -z {flag.lower()}')

versions = {tuple(map(int, v.split('.'))) for v in re.findall(r'GLIBC_([0-9.]+)', output('objdump', '-T', library))}
newest = max(versions)
if newest > (2, 28):
    culprits = [line for line in output('objdump', '-T', library).splitlines()
                if any(tuple(map(int, v.split('.'))) > (2, 28) for v in re.findall(r'GLIBC_([0-9.]+)', line))]
    problems.append('needs glibc ' + '.'.join(map(str, newest)) + ':\n  ' + '\n  '.join(culprits))

for problem in problems:
    print(problem)
print(f'exports: {len(shown)} names, newest glibc {".".join(map(str, newest))}, {len(problems)} problems')
sys.exit(1 if problems else 0)
