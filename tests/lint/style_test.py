# What no compiler checks: length of files, the two opening lines, words that do not belong here.
# Must not repeat what clang-format and clang-tidy do.
import re

import tree

MAX_LINES = 400
FORBIDDEN_NAMES = {'utils', 'util', 'helpers', 'misc', 'common'}
TODO = re.compile(r'\b(TODO|FIXME|XXX)\b(?!\(#\d+\))')
GUEST_EXIT = re.compile(r'(?<![\w.>:])(exit|abort|assert|printf|fprintf|perror)\s*\(')


def problems_in(path):
    lines = tree.text(path).split('\n')
    if len(lines) - 1 > MAX_LINES:
        yield f'{path}: {len(lines) - 1} lines; {MAX_LINES} at most'
    comment = '#' if path.endswith('.py') else '//'
    opening = [line for line in lines[:3] if not line.startswith('#!')][:2]
    if not all(line.startswith((comment, '/*')) for line in opening):
        yield f'{path}:1: say in two comment lines what this file is responsible for and what it must not do'
    stem = path.rsplit('/', 1)[-1].split('.')[0]
    if stem in FORBIDDEN_NAMES:
        yield f'{path}: a file is named after what it does'
    for number, line in enumerate(lines, 1):
        if TODO.search(line):
            yield f'{path}:{number}: a TODO carries the number of its issue: TODO(#12)'
        if path.startswith(('trace/', 'plugin/', 'interpose/', 'counters/')) and GUEST_EXIT.search(line.split('//')[0]):
            yield f'{path}:{number}: nothing in a guest may exit, abort, assert or print'


code = [path for path in tree.files(['.cc', '.h', '.c', '.py']) if not path.startswith('tests/lint/style_test')]
tree.finish('style', len(code), [problem for path in code for problem in problems_in(path)])
