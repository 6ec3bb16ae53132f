"""Settings that every test shares."""

from hypothesis import settings

# A machine that runs other things too must not fail a property for being slow; benchmarks are where speed is shown.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
