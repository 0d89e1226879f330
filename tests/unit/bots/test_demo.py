"""Who sits where among the demo bots."""

from client_sdk.bots.demo import NAMES, posts_of


def test_every_table_has_its_company_and_the_same_each_time() -> None:
    posts = posts_of(["royal-1", "four-deck-1"], 3)
    assert [post.table for post in posts] == ["four-deck-1"] * 3 + ["royal-1"] * 3
    assert posts == posts_of(["four-deck-1", "royal-1"], 3)
    assert len({post.key for post in posts}) == 6


def test_no_name_comes_twice() -> None:
    posts = posts_of([f"table-{number}" for number in range(50)], 10)
    assert len({post.name for post in posts}) == len(posts) > len(NAMES)


def test_names_are_such_that_a_house_takes_them() -> None:
    assert len(set(NAMES)) == len(NAMES)
    posts = posts_of([f"table-{number}" for number in range(100)], 100)
    assert all(1 <= len(post.name) <= 24 and post.name.isprintable() for post in posts)
