"""Ed25519 in the file that an auditor takes along, against RFC 8032 and against the library that signs."""

from __future__ import annotations

import os

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from events.verify_pack import L, verify_signature

# RFC 8032, 7.1: public key, message, signature.
VECTORS = (
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
)  # fmt: skip


def library_says(public: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@pytest.mark.parametrize("vector", VECTORS)
def test_the_vectors_of_the_rfc_hold(vector: tuple[str, str, str]) -> None:
    public, message, signature = map(bytes.fromhex, vector)
    assert verify_signature(public, message, signature)
    assert not verify_signature(public, message + b"x", signature)


def test_it_says_what_the_library_says_of_signatures_and_of_each_with_a_bit_turned() -> None:
    key = Ed25519PrivateKey.generate()
    public, message = key.public_key().public_bytes_raw(), os.urandom(40)
    signature = key.sign(message)
    assert verify_signature(public, message, signature)
    for bit in range(0, 512, 7):
        turned = bytearray(signature)
        turned[bit // 8] ^= 1 << bit % 8
        assert not verify_signature(public, message, bytes(turned))
        assert not library_says(public, message, bytes(turned))


def test_a_signature_has_one_form_alone() -> None:
    key = Ed25519PrivateKey.generate()
    public, signature = key.public_key().public_bytes_raw(), key.sign(b"m")
    larger = int.from_bytes(signature[32:], "little") + L
    assert not verify_signature(public, b"m", signature[:32] + larger.to_bytes(32, "little"))
    for other in (signature[:63], signature + b"\x00", b"", b"\xff" * 64):
        assert not verify_signature(public, b"m", other)


@pytest.mark.parametrize(
    "public",
    [b"\xff" * 32, b"\x00" * 31, b"\x01" + b"\x00" * 30 + b"\x80", (2).to_bytes(32, "little")],
)
def test_what_is_no_key_verifies_nothing(public: bytes) -> None:
    assert not verify_signature(public, b"m", b"\x00" * 64)
