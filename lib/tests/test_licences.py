"""Everything that is installed with this package is under a licence that lets a service be built on it."""

import importlib.util
import re
from pathlib import Path

spec = importlib.util.spec_from_file_location("licences", Path(__file__).with_name("licences.py"))
licences = importlib.util.module_from_spec(spec)
spec.loader.exec_module(licences)


def test_every_locked_package_states_a_licence_that_is_allowed():
    found = {name: licences.licences_of(name) for name in licences.locked()}
    assert len(found) > 100
    others = {name: stated for name, stated in found.items() if not stated or set(stated) - licences.ALLOWED}
    assert others == {}


def test_the_table_names_what_is_locked_with_its_licence():
    written = dict(re.findall(r"^\| ([^ |]+) \| ([^|]*) \|$", licences.TABLE.read_text(encoding="utf-8"), re.MULTILINE))
    written.pop("---", None)
    written.pop("package", None)
    here = {name: ", ".join(licences.licences_of(name)) for name in licences.locked()}
    # Another system and another Python have a few packages more or less.
    assert {name: stated for name, stated in written.items() if name in here} == here
