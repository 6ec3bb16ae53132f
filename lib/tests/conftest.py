"""Settings that every test shares; what is counted of what was tried, and browsers, are plugins."""

from hypothesis import settings

pytest_plugins = ["assay_tried", "browsing"]

# A machine that runs other things too must not fail a property for being slow; benchmarks are where speed is shown.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
