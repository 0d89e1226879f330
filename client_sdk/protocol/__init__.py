"""The wire: message types, codecs, error codes and close codes; `PROTOCOL.md` beside this file explains them."""
