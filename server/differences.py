"""What an audit finds."""

from typing import NamedTuple


class Difference(NamedTuple):
    """Something that does not add up. `amount` is what is missing (negative: too much), minor units; 0 where it is no
    amount that is wrong."""

    where: str
    what: str
    amount: int

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" differs by {self.amount}" if self.amount else "")
