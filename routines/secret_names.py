"""Names under which secrets and personal data stand, in the languages that tools are written in (ruling 42, FL-93). Pure."""

from __future__ import annotations

import re
import unicodedata

from liyagent.core import secret_words
from routines.values import words_of

LONGEST_NAME = 120
NAMED_BY = """
auth authentication authorization bearer cookie cookies credentials credential creds cvc cvv jwt mfa otp pass passcode password passwords
passphrase passwd pin pincode psw pw pwd secret secrets session sessionid sig signature token totp birthday birthdate dob email emails
firstname fullname iban lastname mail mobile passport phone ssn street surname tel telephone
passwort kennwort geheim geheimnis zugangsdaten vorname nachname familienname geburtsdatum geburtstag handy handynummer kontonummer
kreditkartennummer steuernummer telefon telefonnummer contraseña clave apellido apellidos correo teléfono motdepasse mdp jeton prénom
téléphone senha palavrapasse wachtwoord hasło lösenord adgangskode salasana jelszó heslo parola şifre пароль 密码 密碼 口令 パスワード 비밀번호
"""
# Ends of names of several words.
ENDS = (
    ("first", "name"), ("last", "name"), ("full", "name"), ("family", "name"), ("given", "name"), ("maiden", "name"),
    ("birth", "date"), ("of", "birth"), ("birth", "day"), ("e", "mail"), ("card",), ("social", "security"), ("session", "id"),
    ("private", "key"), ("api", "key"), ("access", "key"), ("secret", "key"), ("encryption", "key"), ("signing", "key"), ("ssh", "key"),
    ("master", "key"), ("license", "key"), ("shared", "key"), ("account", "key"), ("recovery", "key"), ("tax", "id"), ("bank", "account"),
    ("account", "number"), ("security", "code"), ("security", "answer"), ("connection", "string"), ("mot", "de", "passe"),
)  # fmt: skip
# They say of what a name names only which one, or in what form.
WEAK = frozenset(["again", "address", "b64", "base64", "code", "confirm", "confirmation", "confirmed", "current", "encrypted", "file", "hash", "header", "json", "new", "no", "nr", "num", "number", "old", "pem", "plain", "raw", "repeat", "string", "text", "value", "neu", "alt"])  # fmt: skip
STROKES = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ß": "ss"})
COUNTED = re.compile(r"v?[0-9]+")


def plain(name: str) -> str:
    """Return a name without accents, and its letters in their usual form."""
    wide = unicodedata.normalize("NFKD", name).translate(STROKES)
    return "".join(it for it in wide if not unicodedata.combining(it))


NAMES = frozenset(plain(it).casefold() for it in NAMED_BY.split())
# Words that others are put before without a space between.
COMPOUND = tuple(map(plain, ("password", "passwort", "kennwort", "contraseña", "motdepasse", "wachtwoord", "пароль", "密码", "密碼")))  # fmt: skip


def is_sensitive_name(name: str) -> bool:
    """Whether what bears this name is secret or personal, whatever it looks like."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        return False
    words = list(words_of(plain(name)))
    if secret_words.NAME.search(name) or _ends_so(words):
        return True
    while len(words) > 1 and (words[-1] in WEAK or COUNTED.fullmatch(words[-1])):
        words.pop()
        if _ends_so(words) or secret_words.NAME.search("_".join(words)):
            return True
    return False


def _ends_so(words: list[str]) -> bool:
    if not words:
        return False
    whole = "".join(words)
    if words[-1] in NAMES or whole in NAMES or whole.endswith(COMPOUND):
        return True
    return any(words[-len(it) :] == [*it] for it in ENDS)
