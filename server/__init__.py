"""The table service: nodes that run tables over a shared store; start reading at `table/` and `dealer.py`."""
