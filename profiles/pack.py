#!/usr/bin/env python3
"""A model as `tessera calibrate --out FILE` writes it, one curve a line and five digits: a profile.

    profiles/pack.py FILE > profiles/MACHINE.json
"""
import json
import sys


def short(value):
    if isinstance(value, list):
        return [short(v) for v in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


document = json.load(open(sys.argv[1]))
devices = []
for name, model in sorted(document["devices"].items()):
    tables = []
    for table in ("curves", "extras"):
        lines = ",\n".join("   " + json.dumps([short(v) for v in line]) for line in model[table])
        tables.append(f'  "{table}": [\n{lines}]')
    known = ", ".join(f'"{key}": {model[key]:.12g}' for key in ("cache_bytes", "memory_speed", "gpu_threads") if model.get(key))
    devices.append(f" {json.dumps(name)}: {{{known},\n" + ",\n".join(tables) + "}")
print(f'{{"tessera_model": {document["tessera_model"]}, "devices": {{\n' + ",\n".join(devices) + "\n}}")
