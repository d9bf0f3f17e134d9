"""Detection and the pictures."""

import re

import numpy as np
import pytest
import tessera
from conftest import ROOT

CLI = ROOT / "tests/cli"


def expected_report(name):
    """The report of `tessera info NAME` in the command's own test, without its lines on FBCSR."""
    text = (CLI / "info.t").read_text()
    block = re.search(
        rf"^  \$ tessera info {re.escape(name)}\n(.*?)(?=^  \$ |\Z|^\S)", text, re.M | re.S
    )
    assert block, name
    lines = [line[2:] for line in block[1].splitlines()]
    report = "\n".join(lines).split("\n\n", 1)[1]
    report = re.sub(r"    shape anywhere.*?\n\n", "", report, flags=re.S)
    return re.sub(r"^fbcsr .*?(?=^cost)", "", report, flags=re.S | re.M).rstrip()


@pytest.mark.parametrize("name", ["blocks2.mtx", "tridiagonal.mtx", "gen:elasticity:n=3"])
def test_detect_prints_what_tessera_info_prints(name):
    if name.startswith("gen:"):
        A = tessera.generate(name)
    else:
        A = tessera.read(CLI / "data" / name, blocksize=(1, 1))
    assert str(A.detect()).rstrip() == expected_report(name)


def test_complex_matrices_are_hermitian_or_symmetric():
    A = tessera.generate("stencil7", n=3, b=2, type="c64")
    report = str(A.detect())
    assert "size       54 x 54, 540 non-zeros, c64\nsymmetry   hermitian\n" in report
    assert "540 non-zeros, c32\n" in str(A.astype("c8").detect())
    S = A.to_scipy()
    for other, said in (
        (A.real.astype("c16"), "hermitian and symmetric"),
        ((S + S.T) * 1j, "symmetric"),
        ((S - S.T) * 1j, "skew-symmetric"),
        (S * 1j, "symmetric pattern, different values"),
    ):
        assert f"symmetry   {said}\n" in str(tessera.bsr_array(other).detect())
    assert "complex128" in A._repr_html_()


def test_detection_has_the_numbers():
    found = tessera.generate("stencil7", n=5, b=4).detect()
    assert found.blocksize == (4, 4) and found.natural_block == 4 and found.entries == 725 * 16
    assert found.candidates[0].rows == 1 and found.recommended in found.candidates
    assert found.symmetry.symmetric == 1 and found.statistics.row_max == 28
    assert tessera.bsr_array(np.zeros((3, 3))).detect().candidates == []
    assert "do not block" in str(tessera.bsr_array(np.zeros((3, 3))).detect())


def test_notebooks_get_a_picture_and_a_table():
    import xml.etree.ElementTree as tree

    for A in (tessera.generate("stencil7", n=12), tessera.bsr_array(np.eye(3, 500))):
        page = tree.fromstring(A._repr_html_())
        assert page.find(".//{http://www.w3.org/2000/svg}rect") is not None
        assert "blocks" in [cell.text for cell in page.iter("th")]
        assert len(A._repr_html_()) < 1_000_000
    assert "<table>" in tessera.bsr_array(np.zeros((0, 3)))._repr_html_()
    assert repr(tessera.bsr_array(np.eye(2), blocksize=(2, 2))) == (
        "<tessera.bsr_array 2 x 2 float64, 1 blocks of 2 x 2>"
    )
