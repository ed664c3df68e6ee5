"""Records of flows as programs print them: source, destination and bytes.

Source: nfdump(1) (`-o csv`), flow-export(1), rwcut(1) of SiLK, pmacct's CONFIG-KEYS
(`print_output: csv`), ra(1) of Argus, IANA's IPFIX Information Elements, Zeek's conn.log (TSV and
JSON), flow logs of Amazon VPC. A row of a file is a record, or is left out with the reason.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from trunkline.importers.common.account import ImportAccount
from trunkline.scenario import units

_COLUMN_NAMES = {
    "from": "from source src sa srcaddr src_addr source_address src_ip srcip sip sourceipv4address "
    "sourceipv6address id.orig_h ip_src",
    "to": "to destination dst da dstaddr dst_addr destination_address dst_ip dstip dip "
    "destinationipv4address destinationipv6address id.resp_h ip_dst",
    "bytes": "bytes ibyt inbytes octets in_bytes doctets octetdeltacount octettotalcount "
    "orig_ip_bytes srcbytes sbytes",
    "bytes back": "obyt outbytes out_bytes reverseoctetdeltacount reverseoctettotalcount "
    "resp_ip_bytes dstbytes dbytes",
    "application bytes": "orig_bytes",
    "application bytes back": "resp_bytes",
    "sampling": "sampling sampling_rate samplingrate sampling_interval samplinginterval "
    "samplingpacketinterval samplerrandominterval sampler_random_interval",
    "class": "class",
    "dscp": "dscp ipdiffservcodepoint",
    "tos": "stos tos ipclassofservice src_tos",
}
"""Names of columns in lower case, ours and those of other programs."""
_NAMES = {ours: names.split() for ours, names in _COLUMN_NAMES.items()}
_BOTH_WAYS = ("totbytes", "tot_bytes")
_SEPARATORS = "|\t;, "
_UNSET = ("", "-", "(empty)")


class RecordError(ValueError):
    """A file that holds no records of flows."""


@dataclass(frozen=True, slots=True)
class FlowRecord:
    """A record of a flow."""

    line: int  # Where it is, from 1.
    source: str
    target: str
    # sent, sent_back: Bytes from source to target, and back [B]; those of all packets, where it was
    # sampled.
    sent: int
    sent_back: int
    # class_name, dscp: Class in the file.
    class_name: str | None
    dscp: int | None


def read_flow_records(
    content: str,
    account: ImportAccount,
    *,
    sampling: int | None = None,
    by_dscp: bool = False,
) -> Iterator[FlowRecord]:
    """Read the records of a file.

    account: Gets each column and each row that is no record.
    sampling: One packet of how many was counted; by default the value of the file, else all.
    by_dscp: Whether the DSCP of a record is its class.
    Raises RecordError: A column is missing or a value is no number, with its line.
    """
    rows = (
        _read_json_rows(content) if content.lstrip()[:1] == "{" else _split_rows(content, account)
    )
    header_line, header = next(rows, (1, []))
    names = [each.strip().lower() for each in header]
    columns = _find_columns(names, header_line)
    unused = {} if sampling is None else {"sampling": "--sampling is used instead"}
    if by_dscp:
        unused["class"] = "--by-dscp is used instead"
    else:
        unused |= dict.fromkeys(("dscp", "tos"), "--by-dscp would make classes of it")
    _account_for_columns(header, columns, unused, account, header_line)
    if sampling is not None or "sampling" in columns:
        one_in = "as the record says" if sampling is None else f"one in {sampling} packets"
        rule = f"times the sampling rate, {one_in}"
        account.add_assumption("bytes", rule, line=header_line)
    for line, row in rows:
        if [each.strip().lower() for each in row] == names:
            account.add_left_out("rows", "the header again", line=line)
            continue
        record = _read_record(line, row, columns, sampling)
        if isinstance(record, str):
            account.add_left_out("rows", record, line=line)
        else:
            yield record


def _split_rows(content: str, account: ImportAccount) -> Iterator[tuple[int, list[str]]]:
    """Split the line and fields of the header and each row behind it."""
    lines = content.splitlines()
    separator = ""
    csv.field_size_limit(131_072)
    for number, line in enumerate(lines, 1):
        if line.startswith(("#:", "#fields")):
            line = line[2:] if line.startswith("#:") else line.partition("\t")[2]
        elif line.startswith("#"):
            account.add_left_out("comments", "lines that begin with #", line=number)
            continue
        if not line.strip():
            continue
        if line.startswith("Summary"):
            count = sum(bool(each.strip()) for each in lines[number - 1 :])
            account.add_left_out("rows", "the totals at the end", count=count, line=number)
            return
        if not separator:
            separator = next((each for each in _SEPARATORS if each in line.strip()), ",")
        try:
            (row,) = csv.reader([line], delimiter=separator, skipinitialspace=separator == " ")
        except (csv.Error, ValueError) as error:
            raise RecordError(f"line {number}: not CSV: {error}") from None
        if separator == "|" and not row[-1].strip():
            row = row[:-1]  # rwcut ends each line with it.
        yield number, row


def _read_json_rows(content: str) -> Iterator[tuple[int, list[str]]]:
    """Read the rows of an object a line, as Zeek writes them; the header has all names first."""
    documents: list[tuple[int, dict[str, object]]] = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise RecordError(f"line {number}: not one JSON object")
        documents.append((number, document))
    names = list(dict.fromkeys(name for _, document in documents for name in document))
    yield 1, names
    for number, document in documents:
        yield number, [str(document.get(name, "-")) for name in names]


def _find_columns(names: list[str], line: int) -> dict[str, int]:
    """Find the place of each column that is there, by our name."""
    columns = {
        ours: names.index(name)
        for ours, theirs in _NAMES.items()
        for name in reversed(theirs)
        if name in names
    }
    if "bytes" not in columns and "application bytes" in columns:
        columns["bytes"] = columns["application bytes"]
        if "application bytes back" in columns:
            columns["bytes back"] = columns["application bytes back"]
    if "bytes" not in columns and any(each in names for each in _BOTH_WAYS):
        message = "TotBytes are those of both ways: print sbytes and dbytes (ra -s +sbytes +dbytes)"
        raise RecordError(f"line {line}: {message}")
    for ours in ("from", "to", "bytes"):
        if ours not in columns:
            raise RecordError(
                f"line {line}: no column for {ours}: one of {', '.join(_NAMES[ours])}"
            )
    return columns


def _account_for_columns(
    header: list[str],
    columns: Mapping[str, int],
    unused: Mapping[str, str],
    account: ImportAccount,
    line: int,
) -> None:
    """Count each column; ``unused`` has the reason for those that options leave out."""
    names = {place: ours for ours, place in columns.items() if not ours.startswith("application")}
    for place, name in enumerate(header):
        ours = names.get(place, "")
        reason = unused.get(ours, "") if ours else "not used by this import"
        if reason:
            account.add_left_out(f"column {name.strip()}", reason, line=line)
        else:
            account.add_read(f"column {name.strip()}", ours, line=line)
    if columns["bytes"] == columns.get("application bytes"):
        rule = "bytes of the application: headers are not in them"
        account.add_assumption(f"column {header[columns['bytes']].strip()}", rule, line=line)


def _read_record(
    line: int, row: list[str], columns: Mapping[str, int], sampling: int | None
) -> FlowRecord | str:
    """Read a record, or why there is none in the row."""
    values = {ours: row[place].strip() for ours, place in columns.items() if place < len(row)}
    if any(ours not in values for ours in ("from", "to", "bytes")):
        raise RecordError(f"line {line}: {len(row)} fields, {1 + max(columns.values())} expected")
    if values["bytes"] in _UNSET and values.get("bytes back", "") in _UNSET:
        return "no bytes"
    rate = Fraction(sampling) if sampling is not None else _read_sampling(line, values)
    sent, sent_back = (
        0 if values.get(ours, "") in _UNSET else round(_read_count(line, values[ours]) * rate)
        for ours in ("bytes", "bytes back")
    )
    dscp = None
    for ours, shift in (("dscp", 0), ("tos", 2)):
        if dscp is None and values.get(ours, "") not in _UNSET:
            number = units.parse_integer(values[ours], 0)
            if number is None or not 0 <= number >> shift <= 63:
                raise RecordError(f"line {line}: {values[ours]} is no {ours}")
            dscp = number >> shift
    return FlowRecord(
        line, values["from"], values["to"], sent, sent_back, values.get("class"), dscp
    )


def _read_count(line: int, text: str) -> int:
    count = units.parse_integer(text)
    if count is None or count < 0:
        raise RecordError(f"line {line}: bytes is a whole number")
    return count


def _read_sampling(line: int, values: Mapping[str, str]) -> Fraction:
    """Read one packet of how many was counted; 0 and nothing mean all."""
    text = values.get("sampling", "")
    if text in _UNSET:
        return Fraction(1)
    number = units.parse_number(text.removeprefix("1:").removeprefix("1/"))
    if number is None or number < 0:
        raise RecordError(f"line {line}: {text} is no sampling rate: 1000, 1:1000")
    return number or Fraction(1)
