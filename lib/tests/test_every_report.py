"""Each report has a test, and no test stands for a report that is not there: the list, and what holds it to the files."""

import ast
import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
REPORTS = TESTS / "reports"

PARSING = "rules/test_reports_parsing.py"
CALIBRATION = "measure/test_reports_calibration.py"
THRESHOLDS = "measure/test_reports_thresholds.py"
FILES = "study/test_reports_files.py"
NOTEBOOKS = "reports/test_notebook_reports.py"

COVERED = {
    "A01-think-brace": (
        f"{PARSING}::test_a_reported_answer_has_its_right_outcome",
        f"{PARSING}::test_tags_inside_a_string_are_kept_letter_for_letter",
    ),
    "A04-textual-confidence": (f"{PARSING}::test_a_reported_answer_has_its_right_outcome",),
    "A06-label-outside-set": (f"{PARSING}::test_labels_outside_the_set_are_errors_that_stay_in_the_row_count",),
    "A08-filtered-or-refused": (
        f"{PARSING}::test_a_reported_response_has_its_right_outcome",
        "ask/test_response.py::test_filtered_refused_and_empty_are_told_apart_from_prose",
    ),
    "A10-python-literal": (f"{PARSING}::test_a_reported_answer_has_its_right_outcome",),
    "C01-ece-top-edge": (f"{CALIBRATION}::test_c01_the_last_of_fifteen_bins_includes_one",),
    "C04-isotonic-outside-range": (
        f"{CALIBRATION}::test_c04_an_isotonic_map_is_level_outside_its_range_and_counts_it",
    ),
    "C06-one-distinct-value": (f"{CALIBRATION}::test_c06_one_distinct_confidence_is_one_bin_and_carries_no_order",),
    "C07-label-types": (
        f"{FILES}::test_c07_labels_of_mixed_types_are_refused_and_the_types_named",
        f"{FILES}::test_c07_one_type_of_label_meets_predictions_of_another",
    ),
    "D01-csv-bom": (f"{FILES}::test_d01_the_byte_order_mark_is_no_part_of_the_first_column",),
    "D04-duplicate-ids-join": (
        f"{FILES}::test_d04_repeated_ids_stop_the_join_and_are_named",
        f"{FILES}::test_d04_answers_without_a_label_are_listed",
    ),
    "D05-newlines-in-text": (f"{FILES}::test_d05_line_breaks_commas_and_quotes_stay_in_their_cell",),
    "D07-spreadsheet-ids": (
        f"{FILES}::test_d07_ids_are_text",
        f"{FILES}::test_d07_ids_that_a_spreadsheet_rewrote_are_not_matched_by_guess",
        f"{FILES}::test_d07_so_it_is_with_the_ids_of_the_spreadsheet_itself",
        f"{FILES}::test_d07_a_spreadsheet_file_is_refused_with_a_way_out",
    ),
    "N02-misspelt-parameter": (f"{NOTEBOOKS}::test_a_misspelt_parameter_stops_the_run_and_the_closest_one_is_named",),
    "N04-secret-in-output": (f"{NOTEBOOKS}::test_a_key_given_as_a_parameter_is_refused_and_found_nowhere",),
    "N07-kernel-not-installed": (
        f"{NOTEBOOKS}::test_a_kernel_that_is_not_installed_is_named_with_those_that_are",
        f"{NOTEBOOKS}::test_the_kernel_can_be_chosen_as_that_message_says",
    ),
    "N08-report-alt-text-and-cdn": (f"{NOTEBOOKS}::test_a_page_describes_its_picture_and_loads_nothing",),
    "P01-minus-9999": (
        "reports/P01-minus-9999/test_minus_9999.py::test_the_probability_is_not_available_with_a_reason",
        "reports/P01-minus-9999/test_minus_9999.py::test_the_answer_itself_stays_usable",
    ),
    "P03-token-spellings": (
        "reports/P03-token-spellings/test_token_spellings.py::test_the_spellings_of_one_label_are_added_up",
    ),
    "P06-mass-over-one": (
        "reports/P06-mass-over-one/test_mass_over_one.py::"
        "test_a_sum_clearly_above_one_is_flagged_and_taken_relative_to_itself",
        "reports/P06-mass-over-one/test_mass_over_one.py::test_a_log_probability_a_hair_above_zero_is_certainty",
    ),
    "R01-unknown-price": (
        "reports/R01-unknown-price/test_unknown_price.py::"
        "test_a_total_with_an_unpriced_model_is_at_least_its_known_part",
        "reports/R01-unknown-price/test_unknown_price.py::test_the_known_part_is_exact",
    ),
    "R04-one-alias-two-models": (
        f"{FILES}::test_r04_answers_are_grouped_by_the_model_that_the_reply_names",
        f"{FILES}::test_r04_one_model_under_an_alias_is_no_fault_and_one_without_a_name_goes_by_the_alias",
    ),
    "T01-no-threshold-reaches-target": (
        f"{THRESHOLDS}::test_t01_no_threshold_reaches_the_target_and_the_best_is_named_as_such",
        f"{THRESHOLDS}::test_t01_accepts_nothing_without_a_certificate",
    ),
    "T04-score-equal-to-threshold": (
        f"{THRESHOLDS}::test_t04_a_confidence_at_the_threshold_passes_wherever_it_is_compared",
        f"{THRESHOLDS}::test_t04_a_sum_of_probabilities_at_the_threshold_passes",
    ),
    "T05-tuned-on-the-test-rows": (
        f"{THRESHOLDS}::test_t05_a_threshold_is_tuned_on_one_part_and_reported_on_the_other",
        f"{THRESHOLDS}::test_t05_a_certificate_tunes_on_the_part_it_is_given_and_passes_nothing_here",
    ),
    "V01-no-discordant-pairs": (
        "reports/V01/test_no_discordant_pairs.py::test_variants_that_never_differ_are_not_called_different_nor_equal",
    ),
    "V04-pair-by-id": (
        "reports/V04/test_pair_by_id.py::test_pairs_are_joined_by_id_and_what_has_no_partner_is_named",
        "reports/V04/test_pair_by_id.py::test_an_id_given_twice_by_one_variant_is_refused",
    ),
    "V05-errors-left-out": (
        "reports/V05/test_errors_left_out.py::test_both_accuracies_are_given_with_their_counts",
        "reports/V05/test_errors_left_out.py::test_the_ranking_counts_all_rows",
        "reports/V05/test_errors_left_out.py::test_the_turned_order_is_shown",
    ),
}


def read(folder: Path) -> dict:
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def test_every_report_is_in_the_list():
    found = {read(file.parent)["id"] for file in REPORTS.glob("*/expected.json")}
    assert found == set(COVERED)


@pytest.mark.parametrize("report", COVERED)
def test_the_tests_of_a_report_are_there_and_open_it(report):
    for test in COVERED[report]:
        path, _, name = test.partition("::")
        source = (TESTS / path).read_text(encoding="utf-8")
        assert name in {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
        assert report.partition("-")[0] in source + path, f"{path} opens no file of {report}"


@pytest.mark.parametrize("report", COVERED)
def test_what_the_checks_of_a_report_name_is_there(report):
    (folder,) = (file.parent for file in REPORTS.glob("*/expected.json") if read(file.parent)["id"] == report)
    content = read(folder)
    assert content["checks"]
    for check in content["checks"]:
        assert {"expect", "expect_any_of"} & set(check)
        names = [value for key, value in check.items() if key == "file" or key.endswith("_file") or key == "run"]
        for name in (*names, *check.get("files", ())):
            assert (folder / name).is_file()
