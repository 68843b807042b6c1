"""The gates of a call, one file each with one `judge(call)`; the order is written in `gateway/judge.py`."""
