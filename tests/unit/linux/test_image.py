"""The guest's first file system, and what comes back from the guest."""

import lzma
import shutil
import struct
import subprocess
import zlib

import pytest

from trunkline.linux.guest.archive import DamagedArchive, read_archive
from trunkline.linux.guest.image import (
    FILE_MODE,
    CpioArchive,
    build_order_image,
    order_modules,
    read_module,
)


def test_the_archive_is_what_cpio_reads(tmp_path):
    if shutil.which("cpio") is None:
        pytest.skip("no cpio here")
    image = build_order_image({"orders": b"trunkline 1\n", "udp-0": bytes(1001)})
    done = subprocess.run(
        ["cpio", "-i", "--quiet", "-d", "-H", "newc"], input=image, cwd=tmp_path, check=True
    )
    assert done.returncode == 0
    assert (tmp_path / "trunkline/orders").read_bytes() == b"trunkline 1\n"
    assert (tmp_path / "trunkline/udp-0").read_bytes() == bytes(1001)


def test_an_entry_has_the_fields_of_the_format_in_their_places():
    # buffer-format.rst: magic, then thirteen numbers of eight hexadecimal digits; name and data
    # each are filled up to four bytes.
    image = CpioArchive()
    image.add("ab", FILE_MODE, b"xyz")
    archive = image.to_bytes()
    assert archive[:6] == b"070701"
    fields = [int(archive[6 + 8 * i : 14 + 8 * i], 16) for i in range(13)]
    assert fields == [1, 0o100644, 0, 0, 1, 0, 3, 0, 0, 0, 0, 3, 0]
    assert archive[110:116] == b"ab\0\0\0\0"
    assert archive[116:120] == b"xyz\0"
    assert len(archive) % 512 == 0


def test_modules_come_after_those_that_they_need(tmp_path):
    def module(name, needs, folder="kernel"):
        path = tmp_path / folder / f"{name}.ko"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\x7fELF\0license=GPL\0depends=" + needs + b"\0name=x\0")

    module("act_mpls", b"")
    module("mpls-iptunnel", b"mpls_router,ip_tunnel")
    module("mpls_router", b"ip_tunnel")
    module("ip_tunnel", b"", "net")
    (tmp_path / "modules.builtin").write_text("kernel/net/ipv4/tcp_cubic.ko\n")
    order, missing = order_modules(tmp_path, ("mpls_iptunnel", "tcp_cubic", "sch_cbq", "act_mpls"))
    names = [path.name for path in order]
    assert names == ["ip_tunnel.ko", "mpls_router.ko", "mpls-iptunnel.ko", "act_mpls.ko"]
    assert missing == ["sch_cbq"]


def test_packed_modules_are_unpacked(tmp_path):
    path = tmp_path / "sch_htb.ko.xz"
    path.write_bytes(lzma.compress(b"\0depends=\0"))
    assert read_module(path) == b"\0depends=\0"
    assert order_modules(tmp_path, ("sch_htb",)) == ([path], [])


def stream(files):
    parts = [b"TLGUEST1"]
    for name, data in files.items():
        parts += [struct.pack("<H", len(name)), name.encode(), struct.pack("<Q", len(data)), data]
        parts.append(struct.pack("<I", zlib.crc32(data)))
    return b"".join([*parts, struct.pack("<HI", 0, len(files))])


def test_results_are_read_as_they_were_written():
    files = {"udp-0.bin": bytes(range(256)), "udp-0.sent": b"7\n", "empty": b""}
    assert read_archive(stream(files)) == files


def test_results_that_are_cut_off_or_damaged_are_refused_at_every_byte():
    total = stream({"udp-0.bin": b"0123456789", "tcp-1.json": b"{}"})
    for length in range(len(total)):
        with pytest.raises(DamagedArchive):
            read_archive(total[:length])
    for at in range(len(total)):
        broken = bytearray(total)
        broken[at] ^= 0x40
        try:
            files = read_archive(bytes(broken))
        except DamagedArchive:
            continue
        # Only a name may change unseen; no data does.
        assert sorted(files.values()) == [b"0123456789", b"{}"]
