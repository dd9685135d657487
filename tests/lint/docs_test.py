# The documents say what the code does: links lead somewhere, each variable and detector has its line, README's commands exist.
# Must not check prose.
import os
import re

import tree


def broken_links(path):
    folder = os.path.dirname(path)
    for match in re.finditer(r'\]\(([^)#\s]+)(#[^)]*)?\)', tree.text(path)):
        target = match[1]
        if '://' in target or target.startswith('mailto:'):
            continue
        if not os.path.exists(os.path.join(tree.root(), folder, target)):
            yield f'{path}: link to {target}, which is not there'


def environment_variables():
    """Every CHOKEPOINT_ variable named in code has a line in docs/environment.md, and the other way round."""
    pattern = re.compile(r'\bCHOKEPOINT_[A-Z][A-Z0-9_]*\b')
    build_only = re.compile(r'CHOKEPOINT_(BUILD_|SANITIZER|LOSS_|TEST_)')
    in_code = set()
    for path in tree.files(['.cc', '.h', '.def']):
        if path.startswith(('trace/', 'counters/', 'plugin/', 'interpose/', 'tools/')):
            for literal in re.findall(r'"([^"\n]*)"', tree.text(path)):
                in_code |= set(pattern.findall(literal))
            if path == 'trace/env.h' or path.endswith('env.def'):
                in_code |= {'CHOKEPOINT_' + name for name in re.findall(r'^\s*X\((?:CHOKEPOINT_)?([A-Z0-9_]+),', tree.text(path), re.M)}
    documented = set(pattern.findall(tree.text('docs/environment.md')))
    wanted = {name for name in in_code if not build_only.match(name)}
    for name in sorted(wanted - documented):
        yield f'docs/environment.md: {name} is read by the code and not described'
    for name in sorted(documented - in_code):
        yield f'docs/environment.md: {name} is described and not read by the code'


def detectors():
    sources = {os.path.basename(path)[:-3] for path in tree.files(['.cc']) if path.startswith('tools/detect/')}
    pages = {os.path.basename(path)[:-3] for path in tree.files(['.md']) if path.startswith('docs/detectors/')}
    tests = {os.path.basename(path)[:-8] for path in tree.files(['_test.cc']) if path.startswith('tests/tools/detect/')}
    ids = set(re.findall(r'DETECTOR\((\w+)', tree.text('tools/detect/detectors.def'))) if 'tools/detect/detectors.def' in tree.files(['.def']) else set()
    for name in sorted(ids):
        if name not in sources:
            yield f'tools/detect/{name}.cc is missing'
        if name.replace('_', '-') not in pages and name not in pages:
            yield f'docs/detectors/{name.replace("_", "-")}.md is missing'
        if name not in tests:
            yield f'tests/tools/detect/{name}_test.cc is missing'


def readme_commands():
    known = set(re.findall(r'^  ([a-z-]+)\)', tree.text('tools/setup.sh'), re.M))
    for command in re.findall(r'tools/setup\.sh ([a-z-]+)', tree.text('README.md')):
        if command not in known:
            yield f'README.md: tools/setup.sh has no command {command}'


pages = tree.files(['.md'])
problems = [problem for path in pages for problem in broken_links(path)]
problems += [*environment_variables(), *detectors(), *readme_commands()]
tree.finish('docs', len(pages), problems)
