"""Tests of Punto; how they are laid out is in docs/testing.md."""
