"""Settings that every test shares, and the count of vectors at the end of a run."""

from hypothesis import settings

# A machine that runs other things too must not fail a property for being slow; benchmarks are where speed is shown.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")


def pytest_terminal_summary(terminalreporter):
    """Say how many vectors gave their want, file by file."""
    run = {}
    for report in terminalreporter.stats.get("passed", []):
        run |= {value[0]: value[1] for name, value in report.user_properties if name == "vectors"}
    if run:
        each = ", ".join(f"{name} {count:,}" for name, count in sorted(run.items()))
        terminalreporter.write_line(f"vectors: {sum(run.values()):,} gave what they want ({each})")
