"""Bots: patrons that play by themselves over the public SDK and check all that they see.

`strategies`, `ledger`, `checker` and `witness` are pure: what to bet, what a seat's money must be, what a table's
events must be, and that all seats got the same. `bot` and `fleet` act, `report` tells. Nothing here may know the
server: a bot is a client like any other. Read next: `fleet`, and `demo` for the bots that keep a table company.
"""
