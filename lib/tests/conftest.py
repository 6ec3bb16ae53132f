"""Settings that every test shares; what is counted of what was tried, and browsers, are plugins."""

import signal

from hypothesis import settings

pytest_plugins = ["assay_tried", "browsing"]

# A shell starts what runs in the background with Ctrl-C ignored, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine that runs other things too must not fail a property for being slow; benchmarks are where speed is shown.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
