"""Pictures and pages: what `assay.measure` computed, drawn, tabled and said in words."""
