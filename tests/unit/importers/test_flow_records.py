"""Records of flows as their programs print them; tests of input 41 have its number."""

from __future__ import annotations

import pytest

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.traffic import RecordError, build_demand_table

NODES = {"10.0.0.1": "A", "10.0.0.2": "B", "2001:db8::1": "C"}
# 150000 B in 5 min are 4000 bit/s, 3000 B are 80 bit/s.
EXPECTED = "from,to,rate\nA,B,4000 bit/s\nB,A,80 bit/s\n"


def read(content: str, **options: object) -> tuple[str, ImportAccount]:
    account = ImportAccount()
    table = build_demand_table(
        content,
        covered_time="5 min",
        nodes=NODES,
        account=account,
        **options,  # type: ignore[arg-type]
    )
    return table, account


def list_reasons(account: ImportAccount) -> dict[str, int]:
    return {each.reason: each.count for each in account.left_out if each.element == "rows"}


FLAGS = "TCP,...AP.SF,0"
NFDUMP = f"""\
ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt
2024-01-01 00:00:01,2024-01-01 00:00:11,10.000,10.0.0.1,10.0.0.2,1,80,{FLAGS},0,100,150000,0,0
2024-01-01 00:00:02,2024-01-01 00:00:12,10.000,10.0.0.2,10.0.0.1,80,1,{FLAGS},0,50,3000,0,0
"""
SUMMARY = "Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n2,153000,150,122400,15,1020\n"
ZEEK = """\
#separator \\x09
#set_separator\t,
#path\tconn
#fields\tts\tuid\tid.orig_h\tid.resp_h\tproto\torig_bytes\tresp_bytes\torig_ip_bytes\tresp_ip_bytes
#types\ttime\tstring\taddr\taddr\tenum\tcount\tcount\tcount\tcount
1.0\tCx\t10.0.0.1\t10.0.0.2\ttcp\t140000\t2000\t150000\t3000
2.0\tCy\t10.0.0.1\t10.0.0.9\ttcp\t140000\t2000\t150000\t3000
3.0\tCz\t10.0.0.1\t10.0.0.2\ttcp\t-\t-\t-\t-
#close\t2024-01-01
"""
ROWS = ("10.0.0.1", "10.0.0.2", "150000"), ("10.0.0.2", "10.0.0.1", "3000")


def make_rows(header: str, separator: str, end: str = "") -> str:
    lines = [header, *(separator.join(row) + end for row in ROWS)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "content",
    [
        NFDUMP + SUMMARY,
        NFDUMP,
        "srcAddr,srcPort,dstAddr,dstPort,packets,bytes\n10.0.0.1,1,10.0.0.2,80,9,150000\n"
        "10.0.0.2,80,10.0.0.1,1,9,3000\n",
        "sa,da,ibyt,obyt\n10.0.0.1,10.0.0.2,150000,3000\n",
        ZEEK,
        '{"id.orig_h":"10.0.0.1","id.resp_h":"10.0.0.2","orig_ip_bytes":150000,"resp_ip_bytes":3000}\n'
        '{"id.orig_h":"10.0.0.1","id.resp_h":"10.0.0.2","proto":"icmp"}\n',
        "sourceIPv4Address,destinationIPv4Address,octetDeltaCount,reverseOctetDeltaCount\n"
        "10.0.0.1,10.0.0.2,150000,3000\n",
        make_rows("#:srcaddr,dstaddr,doctets", ","),
        make_rows("            sIP|            dIP|     bytes|", "|", "|"),
        make_rows("SRC_IP,DST_IP,BYTES", ","),
        "SrcAddr,DstAddr,TotBytes,SrcBytes,DstBytes\n10.0.0.1,10.0.0.2,153000,150000,3000\n",
        make_rows("from;to;bytes", ";"),
        make_rows("from\tto\tbytes", "\t"),
        make_rows("srcaddr dstaddr bytes", " "),
        make_rows("from,to,bytes", ",") + "from,to,bytes\n",
    ],
    ids=[
        *("41-nfdump-summary", "nfdump", "nfdump-1.7", "nfdump-b", "zeek", "zeek-json", "ipfix"),
        *("flow-tools", "silk", "pmacct", "argus", "semicolons", "tabs", "vpc", "concatenated"),
    ],
)
def test_41_records_of_each_program_are_the_same_demands(content: str) -> None:
    assert read(content)[0] == EXPECTED


def test_41_each_row_and_column_is_read_or_left_out() -> None:
    _, account = read(ZEEK)
    assert list_reasons(account) == {"their addresses are not two nodes": 1, "no bytes": 1}
    assert {each.element for each in account.left_out} == {
        "comments", "rows", "column ts", "column uid", "column proto", "column orig_bytes",
        "column resp_bytes",
    }  # fmt: skip
    assert [each.count for each in account.read if each.element == "rows"] == [1]
    _, account = read(NFDUMP + SUMMARY)
    assert list_reasons(account) == {"the totals at the end": 3}


def test_41_a_sampled_record_counts_for_all_packets() -> None:
    sampled = (
        "from,to,bytes,sampling_interval\n10.0.0.1,10.0.0.2,150,1000\n10.0.0.2,10.0.0.1,3000,0\n"
    )
    table, account = read(sampled)
    assert table == EXPECTED
    assert [each.reason for each in account.assumed] == [
        "times the sampling rate, as the record says"
    ]
    assert read(make_rows("from,to,bytes", ","), sampling=1000)[0] == (
        "from,to,rate\nA,B,4000000 bit/s\nB,A,80000 bit/s\n"
    )
    with pytest.raises(RecordError, match="line 2: often is no sampling rate: 1000, 1:1000"):
        read("from,to,bytes,sampling\n10.0.0.1,10.0.0.2,150,often\n")


def test_41_the_dscp_of_a_record_may_be_its_class() -> None:
    # 184 is 46 << 2, EF.
    tos = NFDUMP.replace("...AP.SF,0,0,100", "...AP.SF,0,184,100")
    assert read(tos, by_dscp=True)[0] == (
        "from,to,rate,class\nA,B,4000 bit/s,EF\nB,A,80 bit/s,DF\n"
    )
    table, account = read(tos)
    assert table == EXPECTED
    reasons = {each.element: each.reason for each in account.left_out}
    assert reasons["column stos"] == "--by-dscp would make classes of it"
    with pytest.raises(RecordError, match="line 2: no column for the DSCP: dscp, tos, stos"):
        read(make_rows("from,to,bytes", ","), by_dscp=True)


def test_41_addresses_of_ipv6_are_nodes_too() -> None:
    table, _ = read("from,to,bytes\n2001:db8::1,10.0.0.2,150000\n")
    assert table == "from,to,rate\nC,B,4000 bit/s\n"
    content = "from,to,bytes\n2001:db8::1,10.0.0.2,150000\n"
    unnamed = build_demand_table(content, covered_time="5 min")
    assert unnamed == "from,to,rate\nv6-2001-db8--1,10.0.0.2,4000 bit/s\n"


def test_zeek_bytes_of_the_application_are_said_to_lack_headers() -> None:
    _, account = read("id.orig_h,id.resp_h,orig_bytes\n10.0.0.1,10.0.0.2,5\n")
    assert [each.element for each in account.assumed] == ["column orig_bytes"]


def test_a_demand_is_from_1_bit_s_to_10_tbit_s() -> None:
    # 1,250 B in 1 ns are 10 Tbit/s, the most that a demand may be.
    table = build_demand_table("from,to,bytes\na,b,1250\n", covered_time="1 ns")
    assert table.endswith("10000000000000 bit/s\n")
    with pytest.raises(
        RecordError, match="1251 bytes from a to b over 1 ns are more than 10 Tbit/s"
    ):
        build_demand_table("from,to,bytes\na,b,1251\n", covered_time="1 ns")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("from,to,bytes\na,b,many\n", "line 2: bytes is a whole number"),
        (f"from,to,bytes\na,b,{'1' * 5000}\n", "line 2: bytes is a whole number"),
        ("from,to,bytes\na,b,1_000\n", "line 2: bytes is a whole number"),
        ("from,to,bytes\na,b,٣\n", "line 2: bytes is a whole number"),
        (f"from,to,bytes\na,b,{'1' * 200_000}\n", "line 2: not CSV: field larger"),
        ("from,to,bytes\na,b\n", "line 2: 2 fields, 3 expected"),
        ("from,bytes\na,1\n", "line 1: no column for to: one of to, destination"),
        ("SrcAddr,DstAddr,TotBytes\na,b,1\n", "line 1: TotBytes are those of both ways"),
        ('{"a": 1}\n[]\n', "line 2: not one JSON object"),
        ("from,to,bytes,tos\na,b,1,999\n", "line 2: 999 is no tos"),
        ("from,to,bytes\na,a,5\n", "no record between two nodes; rows .line 2.: between addresses"),
        ("", "line 1: no column for from"),
    ],
)
def test_what_is_no_record_names_its_line(content: str, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        build_demand_table(content, covered_time="1 s")
