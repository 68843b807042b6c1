"""What is no mission: 65 texts that look like one, and what is no text at all."""

from __future__ import annotations

HOSTILE_TEXTS: tuple[str, ...] = (
    "",
    " ",
    "\t",
    "\n",
    "\x00",
    "INC-1\n",
    "INC-1\r",
    "INC-1\r\n",
    "\nINC-1",
    "INC-1\r\nX-Evil: 1",
    "INC-1\n\nGET / HTTP/1.1",
    " INC-1",
    "INC-1 ",
    "INC 1",
    "INC-1\t",
    "INC-1\x00",
    "INC\x001",
    "INC-1\x0b",
    "INC-1\x0c",
    "INC-1\x1c",
    "INC-1\x85",
    "INC-1\xa0",
    "INC-1\u2028",
    "INC-1\u2029",
    "\ufeffINC-1",
    "INC\u200b-1",
    "INC\u200d-1",
    "INC\u00ad-1",
    "\u202eINC-1",
    "INC-1\u202c",
    "\uff29NC-1",  # full-width I
    "\u0406NC-1",  # Cyrillic I
    "\u0399NC-1",  # Greek Iota
    "\u2160NC-1",  # Roman numeral one
    "INC-\u0661",  # Arabic-Indic one
    "INC-\uff11",  # full-width one
    "INC-\u00b9",  # superscript one
    "INC\u20101",  # hyphen
    "INC\u22121",  # minus
    "INC\u30fb1",
    "INC\uff0d1",
    "I\u0307NC-1",  # with a dot above
    "\u0130NC-1",
    "\u212aELVIN-1",  # Kelvin sign, a K when lowered
    "\u017fTRA\u00dfE",
    "\ud800",
    "INC-1\udc00",
    "\U0001f600",
    "-INC",
    ".INC",
    "_INC",
    ":INC",
    "--",
    "x" * 129,
    "x" * 10_000,
    "INC-1, INC-2",
    "INC-1,INC-1",
    "INC-1;ttl=5",
    "INC/1",
    "INC\\1",
    "INC+1",
    "INC%2D1",
    "INC%252D1",
    "'INC-1'",
    '"INC-1"',
    "INC-1#2",
    "{INC-1}",
    "$(INC-1)",
)
NO_TEXTS: tuple[object, ...] = (
    None, True, 7, 7.5, float("nan"), b"INC-1", bytearray(b"INC-1"), ["INC-1"], ("INC-1",), {"id": "INC-1"}, {"INC-1"}, object(),
)  # fmt: skip
assert len(set(HOSTILE_TEXTS)) >= 65
