"""What an operator may set: each option once (`catalogue.py`), read from a file, the environment and flags
(`sources.py`), printed with where it came from (`listing.py`)."""
