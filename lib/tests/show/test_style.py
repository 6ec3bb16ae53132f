from assay.show.style import LOOKS, look, panel_name


def test_a_long_model_name_gives_way_to_what_tells_series_apart():
    shown = panel_name("SmolLM2-135M-Instruct.Q4_1@b179c9523d0e, traps, verbal")
    assert shown == "SmolLM2-135M-Instruct.Q4_…\ntraps, verbal"
    assert panel_name("o3, jul25") == "o3, jul25"
    assert all(len(line) <= 26 for line in panel_name("x" * 90 + ", " + "y" * 90).splitlines())


def test_no_two_looks_share_colour_marker_or_line():
    for name in ("colour", "marker", "line"):
        assert len({getattr(one, name) for one in LOOKS}) == len(LOOKS)
    assert look(len(LOOKS)) == LOOKS[0]
