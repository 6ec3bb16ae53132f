"""assay: how much of an LLM's stated confidence is real, and what to do about it.

The package is five rooms, imported by name: `assay.rules` (standard library only), `assay.study`, `assay.ask`,
`assay.measure` and `assay.show`. Importing `assay` alone imports none of them.
"""

__version__ = "0.1.0"
