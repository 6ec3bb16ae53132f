"""Writing the policy file of a certificate, and saying what the file may be used for."""

from datetime import UTC, datetime
from pathlib import Path

from assay.measure.certificate import Certificate
from assay.measure.policies import policy_of
from assay.rules import Taxonomy, save_policy
from assay.show.opening import Opened
from assay.study.series import Series


def write_policy_file(
    certificate: Certificate, taxonomy: Taxonomy, opened: Opened, series: Series, path: str | Path
) -> str:
    """Write the policy of a series of a study.

    Parameters
    ----------
    certificate : Certificate
        Of the policy; whatever its verdict, it goes into the file.
    taxonomy : Taxonomy
    opened : Opened
    series : Series
        Whose answers it is for.
    path : str or Path
        Its folder is made where it is missing.

    Returns
    -------
    str
        To whose answers it applies and until when, or that it is refused, in a sentence.
    """
    policy = policy_of(
        certificate,
        taxonomy,
        date=datetime.now(UTC).date(),
        prompt_sha256=opened.whole.prompt_sha256(series.prompt),
        data_sha256=opened.whole.data_sha256,
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save_policy(policy, path)
    if certificate.passed:
        return f"It applies to answers of {series.name} until {policy.review_by}."
    return f"Its verdict is {policy.verdict}, so it is refused wherever it is applied."
