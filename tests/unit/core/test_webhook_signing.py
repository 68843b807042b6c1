"""The headers of a webhook, as the specification has them."""

from __future__ import annotations

import base64

import pytest

from liyagent.core.webhook_signing import is_signed, signed_headers

SECRET = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
OLDER = b"o" * 24
BODY = b'{"test": 2432232314}'
PUBLISHED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def signed(*secrets: bytes, timestamp: int = 1614265330) -> dict[str, str]:
    return signed_headers(
        webhook_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=timestamp,
        body=BODY,
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


def is_let_in(
    signatures: str, *secrets: bytes, timestamp: str = "1614265330", body: bytes = BODY
) -> bool:
    return is_signed(
        webhook_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=timestamp,
        signatures=signatures,
        body=body,
        secrets=secrets,
    )


def test_any_secret_and_any_signature_of_several_will_do() -> None:
    assert is_let_in(PUBLISHED, SECRET)
    assert is_let_in(f"v1a,x {signed(OLDER)['webhook-signature']} {PUBLISHED}", OLDER[::-1], SECRET)


@pytest.mark.parametrize("signatures", ["", "v1,", PUBLISHED[3:], f"v2,{PUBLISHED[3:]}", "v1,w=="])
def test_what_no_secret_signed_is_not_let_in(signatures: str) -> None:
    assert not is_let_in(signatures, SECRET)


def test_another_secret_time_or_body_is_not_what_was_signed() -> None:
    assert not is_let_in(PUBLISHED, OLDER)
    assert not is_let_in(PUBLISHED, SECRET, timestamp="1614265331")
    assert not is_let_in(PUBLISHED, SECRET, body=BODY + b" ")
    assert not is_let_in(PUBLISHED)
