"""Rows as tables."""

import csv
import io
from dataclasses import dataclass

from scoreboard import Entry, to_dataframe, to_records


@dataclass
class Ranked:
    version: int
    rank: int | None


ROWS = [Entry(rank=1, user_id="ann", score=2**53 - 1, display_name="Ann"), Entry(rank=2, user_id="bob", score=-5)]


def test_records_have_the_same_keys() -> None:
    records = to_records(iter(ROWS))
    names = ["rank", "score", "user_id", "avatar_url", "display_name", "metadata", "private", "subscore"]
    assert [list(r) for r in records] == [names] * 2
    out = io.StringIO()
    writer = csv.DictWriter(out, records[0])
    writer.writeheader()
    writer.writerows(records)
    assert out.getvalue().splitlines()[1:] == ["1,9007199254740991,ann,,Ann,,False,", "2,-5,bob,,,,False,"]
    assert to_records([]) == []


def test_dataframe_keeps_integers_exact() -> None:
    table = to_dataframe(ROWS)
    assert list(table["score"]) == [2**53 - 1, -5]
    assert str(table["score"].dtype) == "Int64"
    assert table.set_index("user_id").loc["ann", "display_name"] == "Ann"
    assert len(to_dataframe([])) == 0

    absent = to_dataframe([Ranked(1, None), Ranked(2, 2**53 - 1)])
    assert str(absent["rank"].dtype) == "Int64"
    assert absent["rank"][1] == 2**53 - 1
