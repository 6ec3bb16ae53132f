"""One target under the coverage-guided fuzzer: `python guided.py TARGET [libFuzzer's arguments]`; see `fuzz_runner`."""

import logging
import sys
import warnings

import atheris

# Instrumented as they are imported: the package, and the readers of the standard library that it relies on.
with atheris.instrument_imports(include=["assay", "json", "tomllib", "yaml"]):
    from fuzz_targets import TARGETS


def main() -> None:
    """Hand the target to the fuzzer, which ends the process."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("error")
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, atheris.instrument_func(TARGETS[name]))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
