"""The operator's keys: sealed secrets open at their own place only, several keys work together, files tell no key."""

import stat
from pathlib import Path

import pytest

from server.cli import main
from server.keyring import Keyring, SealBroken, SealKeyMissing, key_id, sealed_by
from server.keyring_file import BadKeyFile, add_key, make_keyring, read_keyring

OLD, NEW = bytes(32), bytes(range(32))
SECRET = b"the secret of some shoe, 32 long"


def test_a_secret_opens_at_its_own_table_and_shoe_only() -> None:
    keyring = Keyring([NEW])
    sealed = keyring.seal(SECRET, "royal-1", 7)
    assert keyring.open(sealed, "royal-1", 7) == SECRET
    for table, shoe in (("royal-2", 7), ("royal-1", 8), ("royal-1\x00", 7), ("", 7)):
        with pytest.raises(SealBroken):
            keyring.open(sealed, table, shoe)


def test_every_flipped_digit_of_what_is_sealed_is_noticed() -> None:
    keyring = Keyring([NEW])
    sealed = keyring.seal(SECRET, "royal-1", 7)
    content = sealed.rindex(".") + 1
    for at in range(content, len(sealed)):
        wrong = sealed[:at] + ("0" if sealed[at] != "0" else "1") + sealed[at + 1 :]
        with pytest.raises(SealBroken):
            keyring.open(wrong, "royal-1", 7)


def test_no_two_seals_are_alike_and_none_tells_the_secret() -> None:
    keyring = Keyring([NEW])
    seals = {keyring.seal(SECRET, "royal-1", 7) for _ in range(50)}
    assert len(seals) == 50
    assert not [sealed for sealed in seals if SECRET.hex() in sealed or NEW.hex() in sealed]
    assert NEW.hex() not in repr(keyring)


def test_the_newest_key_seals_and_the_older_ones_still_open() -> None:
    before, rotated, without = Keyring([OLD]), Keyring([OLD, NEW]), Keyring([NEW])
    old_seal = before.seal(SECRET, "t", 1)
    assert rotated.open(old_seal, "t", 1) == SECRET
    new_seal = rotated.seal(SECRET, "t", 2)
    assert sealed_by(new_seal) == rotated.newest_id == key_id(NEW)
    assert without.open(new_seal, "t", 2) == SECRET
    with pytest.raises(SealKeyMissing) as missing:
        without.open(old_seal, "t", 1)
    assert str(missing.value) == f"sealed by the key {key_id(OLD)}, which this node does not hold"


@pytest.mark.parametrize("rubbish", ["", "x", "1..", "1.a.", "2.a.b", ".", "1", "1.0011223344556677"])
def test_what_was_never_sealed_is_no_seal(rubbish: str) -> None:
    with pytest.raises(SealBroken):
        Keyring([NEW]).open(rubbish, "t", 1)


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_first_key_is_made_for_its_owner_alone_and_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "seal.key"
    first = make_keyring(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert make_keyring(path).ids == first.ids, "whoever comes second takes what is there"
    assert [entry.name for entry in path.parent.iterdir()] == ["seal.key"]
    second = add_key(path)
    assert second.ids == (*first.ids, second.newest_id)
    assert len(set(second.ids)) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "holds 0 keys"),
        ("# nothing\n\n", "holds 0 keys"),
        (f"{NEW.hex()}\nsecretsecret\n", "line 2 is no key"),
        (f"{NEW.hex()} \n {NEW.hex()[:-2]}\n", "line 2 is no key"),
        (f"{NEW.hex()[:32]} {NEW.hex()[32:]}\n", "line 1 is no key"),
        (f"{NEW.hex()}\n" * 65, "holds 65 keys"),
    ],
)
def test_a_bad_file_is_told_by_its_line_and_never_by_what_it_holds(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "seal.key"
    path.write_text(content)
    with pytest.raises(BadKeyFile) as bad:
        read_keyring(path)
    assert why in str(bad.value)
    assert "secretsecret" not in str(bad.value)
    assert NEW.hex()[:16] not in str(bad.value)


def test_the_command_adds_and_names_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "seal.key"
    assert main(["seal-key", "new", str(path)]) == main(["seal-key", "new", str(path)]) == 0
    capsys.readouterr()
    assert main(["seal-key", "show", str(path)]) == 0
    first, second = read_keyring(path).ids
    assert capsys.readouterr().out == f"{first}\n{second}  seals\n"
    assert main(["seal-key", "show", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith(f"punto-server: --seal-key: {tmp_path}/nowhere: ")
