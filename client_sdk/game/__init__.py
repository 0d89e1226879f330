"""The rules of baccarat as pure code: no clock, no randomness, no I/O, standard library only.

Time, chance and state come in as arguments, values go out. It must never import from the rest of the SDK or from the
server. Read next: `cards`, then `tableau` (who draws), `variants` (the houses), `settlement` (who is paid what).
"""
