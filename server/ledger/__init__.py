"""What a table's ledger says, read from its bytes: entries, their replay, copies for patrons, the export and its check.
Pure."""
