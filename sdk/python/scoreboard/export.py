"""Rows of boards and ledgers as tables."""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def to_records(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Rows (entries of a board or a list, of a statement, or receipts) as dicts with the same keys in the same order,
    None for what a row does not have: for csv.DictWriter, json.dumps or pandas.DataFrame."""
    return [{f.name: getattr(row, f.name) for f in dataclasses.fields(row)} for row in rows]


def to_dataframe(rows: Iterable[Any]) -> "pandas.DataFrame":
    """Rows as a DataFrame of pandas, which must be installed. Columns of integers are Int64, also if
    some are absent, so that none becomes a float."""
    import pandas

    records = to_records(rows)
    columns = {}
    for name in records[0] if records else ():
        values = [record[name] for record in records]
        whole = {type(value) for value in values if value is not None} == {int}
        columns[name] = pandas.Series(values, dtype="Int64" if whole else None)
    return pandas.DataFrame(columns)
