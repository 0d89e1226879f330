"""What can go wrong between a node and the store, each said once here.

StoreError
 +-- StoreAway         no answer in time, or no connection: it is unknown whether the call was done
 +-- StoreRefused      the store answered, but will not do it (out of memory, read-only, misconfigured)
 +-- Fenced            the table has another owner: drop it, write no more
 +-- OutOfStep         the table's seq is not the one that this step follows: claim and load it again
 +-- Refused           a script's own refusal, by its code
"""


class StoreError(Exception):
    """Root of everything that the store raises."""


class StoreAway(StoreError):
    """No answer; a write may or may not have been done, so only a request that is decided once may be repeated."""


class Unconfirmed(StoreAway):
    """An act about money was done, but could still be lost with the primary; the same request asks again."""


class StoreRefused(StoreError):
    """The store itself refuses writes; an operator has to look."""


class NewerSchema(StoreRefused):
    """The table's keys have a shape that only newer nodes understand; this node has to be replaced."""

    def __str__(self) -> str:
        return "NEWER_SCHEMA: a newer version has taken this table over, and this node is to be replaced"


class Fenced(StoreError):
    """Another node or a newer epoch owns the table."""


class OutOfStep(StoreError):
    """The store's seq or incarnation is not what the owner believes."""


class Refused(StoreError):
    """A script refused; `code` is its first word, `details` the rest of its answer."""

    def __init__(self, code: str, details: tuple[object, ...] = ()) -> None:
        super().__init__(code, details)
        self.code = code
        self.details = details

    def number(self, at: int) -> int:
        """One of the details that is a number."""
        detail = self.details[at]
        assert isinstance(detail, int), "the script answers with numbers"
        return detail

    def __str__(self) -> str:
        return self.code
