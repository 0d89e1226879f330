"""The life of a table as a pure machine: `phases` (the tables), `state` (the values), `machine` (the steps)."""
