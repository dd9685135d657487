# Include directions: who may include whom. The table below is the architecture.
# Must not know anything else about the code.
import os
import re

import tree

# folder -> folders it may include from (itself is always allowed)
ALLOWED = {
    'trace': [],
    'counters': ['trace'],
    'plugin': ['trace', 'counters'],
    'interpose': ['trace', 'counters'],
    'tools/model': ['trace'],
    'tools/detect': ['tools/model', 'trace'],
    'tools/report': ['tools/detect', 'tools/model', 'trace'],
    'tools/cli': ['tools/report', 'tools/detect', 'tools/model', 'trace'],
}
# The write side of trace/ stays out of the tools, the read side out of the guest.
WRITE_ONLY = {'recorder', 'ring', 'drain', 'writer', 'raw_io', 'process_info'}
READ_ONLY = {'reader', 'status'}


def layer_of(path):
    parts = path.split('/')
    for length in (2, 1):
        name = '/'.join(parts[:length])
        if name in ALLOWED and len(parts) > length:
            return name
    return None


def problems_in(path):
    layer = layer_of(path)
    for number, line in enumerate(tree.text(path).split('\n'), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        target = layer_of(match[1])
        if target is None:
            if '/' not in match[1] and os.path.exists(os.path.join(tree.root(), os.path.dirname(path), match[1])):
                yield f'{path}:{number}: include "{match[1]}" by its path from the root'
            continue
        stem = os.path.splitext(os.path.basename(match[1]))[0]
        if target != layer and target not in ALLOWED[layer]:
            yield f'{path}:{number}: {layer} must not include {target} ("{match[1]}")'
        elif target == 'trace' and layer.startswith('tools/') and stem in WRITE_ONLY:
            yield f'{path}:{number}: the tools must not include the write side ("{match[1]}")'
        elif target == 'trace' and layer in ('counters', 'plugin', 'interpose') and stem in READ_ONLY:
            yield f'{path}:{number}: the guest must not include the read side ("{match[1]}")'


checked = [path for path in tree.files(['.cc', '.h']) if layer_of(path)]
tree.finish('layers', len(checked), [problem for path in checked for problem in problems_in(path)])
