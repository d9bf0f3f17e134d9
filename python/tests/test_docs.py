"""The tutorial runs, and the types are right."""

import doctest
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT


def test_tutorial():
    options = doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(ROOT / "docs/python.md"), False, optionflags=options)
    assert failed == 0 and tried > 25


def checker(name, *arguments):
    if not shutil.which(name, path=f"{sys.prefix}/bin"):
        pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [f"{sys.prefix}/bin/{name}", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_pass_mypy():
    checker("mypy", "--cache-dir", "build-python/mypy")


def test_types_pass_pyright():
    checker("pyright")


def test_style():
    checker("ruff", "check", "--no-cache", "--select", "E,F,W,I,B,UP", "python")
    checker("ruff", "format", "--no-cache", "--check", "python")
