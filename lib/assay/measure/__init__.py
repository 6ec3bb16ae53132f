"""Numbers: what confidences, decisions and prompts are worth, each with its interval.

Is the confidence real: `calibration_report`, `hygiene`, `summarise_calibration`, `corp_curve`, `binned_curve`, `ece`,
`smooth_ece`, `class_calibration`, `judge_maps`. Which threshold: `sweep`, `best_point`, `tune`, `certify`,
`bootstrap_choice`, `labels_needed`. Which prompt: `compare`, `equal_safety`, `disagreements`. When may the cheap model
answer: `floor_map`, `earn`, `judge_routing`. Does it still hold: `check`.
Each takes the tidy frame of a study, or plain arrays, and returns a frozen dataclass or a frame.
"""

from assay.measure.agreement import annotator_agreement
from assay.measure.bootstrap import ChoiceBootstrap, bootstrap_choice
from assay.measure.calibration_report import CalibrationReport, calibration_report
from assay.measure.certificate import Certificate, CertificateError, certify
from assay.measure.classwise import class_calibration
from assay.measure.clustering import ClusteringComparison, compare_clustering
from assay.measure.comparison import Comparison, compare
from assay.measure.corp import CorpCurve, Decomposition, corp_curve, decompose_brier
from assay.measure.decide import Decisions, decide
from assay.measure.disagreement import disagreements
from assay.measure.drift import DriftReport, check
from assay.measure.ece import EceTest, debiased_ece, ece, ece_test
from assay.measure.equal_safety import EqualSafety, equal_safety
from assay.measure.figures import DecisionFigures, confusion, decision_figures, misroutes
from assay.measure.floors import Earned, FloorMap, earn, floor_map
from assay.measure.hygiene import Hygiene, hygiene, hygiene_of, hygiene_table
from assay.measure.intervals import Interval, clustered_proportion, exact_lower, exact_upper, wilson
from assay.measure.line import CalibrationLine, calibration_line
from assay.measure.operating import OperatingPoint, best_point
from assay.measure.permutation import mcnemar
from assay.measure.planning import fewest_labels, further_labels, labels_needed
from assay.measure.policies import policy_of
from assay.measure.power import smallest_difference
from assay.measure.ranking import Ranking, auroc
from assay.measure.recalibration import Recalibration, fit_recalibration, recalibrate
from assay.measure.recalibration_report import JudgedMap, judge_maps
from assay.measure.reliability import BinnedCurve, binned_curve
from assay.measure.repeats import Repeats, compare_repeats
from assay.measure.routing import JudgedRouting, judge_routing
from assay.measure.scores import LogLoss, Score, accuracy, brier, log_loss
from assay.measure.selection import Selection, items_for_choosing
from assay.measure.smooth import SmoothEce, smooth_ece
from assay.measure.summary import CalibrationSummary, calibration_table, summarise_calibration
from assay.measure.sweep import SweepCounts, SweepPlan, breakpoints, sweep
from assay.measure.table import AnswerTable
from assay.measure.tally import Tally, sum_tallies
from assay.measure.tally_figures import TallyFigures, tally_figures
from assay.measure.tuning import Tuned, tune

__all__ = [
    "AnswerTable",
    "BinnedCurve",
    "CalibrationLine",
    "CalibrationReport",
    "CalibrationSummary",
    "Certificate",
    "CertificateError",
    "ChoiceBootstrap",
    "ClusteringComparison",
    "Comparison",
    "CorpCurve",
    "DecisionFigures",
    "Decisions",
    "Decomposition",
    "DriftReport",
    "Earned",
    "EceTest",
    "EqualSafety",
    "FloorMap",
    "Hygiene",
    "Interval",
    "JudgedMap",
    "JudgedRouting",
    "LogLoss",
    "OperatingPoint",
    "Ranking",
    "Recalibration",
    "Repeats",
    "Score",
    "Selection",
    "SmoothEce",
    "SweepCounts",
    "SweepPlan",
    "Tally",
    "TallyFigures",
    "Tuned",
    "accuracy",
    "annotator_agreement",
    "auroc",
    "best_point",
    "binned_curve",
    "bootstrap_choice",
    "breakpoints",
    "brier",
    "calibration_line",
    "calibration_report",
    "calibration_table",
    "certify",
    "check",
    "class_calibration",
    "clustered_proportion",
    "compare",
    "compare_clustering",
    "compare_repeats",
    "confusion",
    "corp_curve",
    "debiased_ece",
    "decide",
    "decision_figures",
    "decompose_brier",
    "disagreements",
    "earn",
    "ece",
    "ece_test",
    "equal_safety",
    "exact_lower",
    "exact_upper",
    "fewest_labels",
    "fit_recalibration",
    "floor_map",
    "further_labels",
    "hygiene",
    "hygiene_of",
    "hygiene_table",
    "items_for_choosing",
    "judge_maps",
    "judge_routing",
    "labels_needed",
    "log_loss",
    "mcnemar",
    "misroutes",
    "policy_of",
    "recalibrate",
    "smallest_difference",
    "smooth_ece",
    "sum_tallies",
    "summarise_calibration",
    "sweep",
    "tally_figures",
    "tune",
    "wilson",
]
