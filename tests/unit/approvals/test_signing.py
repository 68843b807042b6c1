"""The headers of a webhook, as the specification has them."""

from __future__ import annotations

import base64

from liyagent.approvals.signing import signed_headers

SECRET = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
OLDER = b"o" * 24
PUBLISHED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def signed(*secrets: bytes, timestamp: int = 1614265330) -> dict[str, str]:
    return signed_headers(
        webhook_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=timestamp,
        body=b'{"test": 2432232314}',
        secrets=secrets,
    )


def test_a_signature_is_the_one_that_the_specification_s_authors_publish() -> None:
    assert signed(SECRET) == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": PUBLISHED,
    }


def test_while_a_secret_is_replaced_both_sign() -> None:
    newer, older = signed(SECRET, OLDER)["webhook-signature"].split(" ")
    assert newer == PUBLISHED
    assert older == signed(OLDER)["webhook-signature"]
    assert older != newer


def test_the_time_of_the_attempt_is_signed_too() -> None:
    later = signed(SECRET, timestamp=1614265331)
    assert later["webhook-signature"] != PUBLISHED
