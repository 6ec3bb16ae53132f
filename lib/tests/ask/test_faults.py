"""What each fault is to a caller, and how long to wait."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from assay.ask import FAULTS, HOPELESS, RETRIED
from assay.ask.faults import ask_error, fault_of_body, retry_after
from assay.rules.classifier import Rejected, Transient, Transport, Usage


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "9" * 40}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
    ],
)
def test_the_wait_that_a_provider_names_is_read(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_wait_until_a_date_is_the_time_left():
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert retry_after({"retry-after": until}) == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    ("kinds", "error"),
    [
        (("rate_limited", "quota_exhausted", "server_error", "timed_out"), Transient),
        (("connection_failed", "unreadable_reply", "empty", "truncated"), Transport),
        (("filtered", "refused", "rejected", "unauthorised", "unknown_model", "too_long", "unsendable"), Rejected),
    ],
)
def test_a_kind_of_fault_is_one_of_the_four_errors(kinds, error):
    for kind in kinds:
        raised = ask_error(kind, FAULTS[kind], 7.0, Usage(1, 2))
        assert type(raised) is error
        assert raised.usage == Usage(1, 2)
        assert str(raised) == f"{kind}: {FAULTS[kind]}"
        assert getattr(raised, "retry_after", 7.0) == 7.0


def test_every_kind_is_accounted_for():
    assert set(FAULTS) >= RETRIED | HOPELESS
    assert not RETRIED & HOPELESS


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"code": 503}, "server_error"),
        ({"code": 401}, "unauthorised"),
        ({"code": "insufficient_quota"}, "quota_exhausted"),
        ({"code": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}, "filtered"),
        ("overloaded", "rejected"),
        ([], "rejected"),
        ({"code": {"a": 1}, "innererror": 3}, "rejected"),
    ],
)
def test_an_error_inside_a_reply_has_its_kind(body, kind):
    assert fault_of_body(body).kind == kind
