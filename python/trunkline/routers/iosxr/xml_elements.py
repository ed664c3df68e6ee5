"""Elements of NETCONF XML, by the model that they belong to."""

from typing import Final
from xml.etree import ElementTree

_NAMESPACE: Final = "http://cisco.com/ns/yang/Cisco-IOS-XR-"


class XmlWriter:
    """Elements of NETCONF by the module that they belong to."""

    def __init__(self) -> None:
        self.root = ElementTree.Element("config", xmlns="urn:ietf:params:xml:ns:netconf:base:1.0")

    def add_module(self, module: str, name: str) -> ElementTree.Element:
        """Begin the part of a model."""
        return ElementTree.SubElement(self.root, name, xmlns=f"{_NAMESPACE}{module}")

    def to_text(self) -> str:
        """The document."""
        ElementTree.indent(self.root, " ")
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"


def add_element(
    parent: ElementTree.Element, name: str, text: object = None, *, module: str = ""
) -> ElementTree.Element:
    """A child; with ``module`` it begins another model's part."""
    attributes = {"xmlns": f"{_NAMESPACE}{module}"} if module else {}
    child = ElementTree.SubElement(parent, name, attributes)
    if text is not None:
        child.text = str(text)
    return child


def add_path(parent: ElementTree.Element, *names: str) -> ElementTree.Element:
    """Children, each in the one before."""
    for name in names:
        parent = add_element(parent, name)
    return parent


def add_interface(
    parent: ElementTree.Element, name: str, description: str, *, virtual: bool = False
) -> ElementTree.Element:
    """An entry of the interfaces."""
    entry = add_element(parent, "interface-configuration")
    add_element(entry, "active", "act")
    add_element(entry, "interface-name", name)
    if virtual:
        add_element(entry, "interface-virtual")
    if description:
        add_element(entry, "description", description)
    return entry
