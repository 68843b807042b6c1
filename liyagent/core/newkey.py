"""`python -m liyagent.core.newkey`: print a fresh key for LIYAGENT_SEAL_KEYS."""

from liyagent.core.conf import new_seal_key

if __name__ == "__main__":
    print(new_seal_key())  # noqa: T201 - printing it is the whole command
