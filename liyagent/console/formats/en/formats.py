"""Django's names of the forms; every time is in UTC."""

from __future__ import annotations

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s\\Z"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i:s\\Z"
