"""Faults found while a scenario is read, resolved and checked, by paths of the document."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trunkline.scenario.diagnostic import Diagnostic, DocumentPath, Place, suggest_nearest

NAMED_SECTIONS = frozenset(
    {
        "nodes",
        "links",
        "ports",
        "conditioners",
        "profiles",
        "paths",
        "trunks",
        "flows",
        "parameters",
        "classes",
        "failures",
        "maintenance",
        "protections",
        "demands",
        "traffic",
    }
)
"""Keys whose values are mappings from names that the user chose."""

_MAX_NAME_SHOWN = 64


@dataclass(frozen=True)
class Finding:
    """A diagnostic whose places are still paths of the document."""

    diagnostic: Diagnostic  # All but the places.
    path: DocumentPath  # Keys and indices from the root.
    at_key: bool  # It is the key that is wrong, not the value.
    # Other paths that matter, each with a word on why.
    related: tuple[tuple[DocumentPath, str], ...]
    place: Place | None = None  # Where it is, if that is not in the document.


@dataclass
class Problems:
    """Collects the faults that one phase finds."""

    findings: list[Finding] = field(default_factory=list)  # In order of discovery.
    # Path of each generated element to that of what it was generated from in the document: what is
    # wrong with the first is shown at the second.
    origins: dict[DocumentPath, DocumentPath] = field(default_factory=dict)

    def add(
        self,
        code: str,
        path: DocumentPath,
        message: str,
        *,
        given: str = "",
        allowed: str = "",
        hint: str = "",
        at_key: bool = False,
        warning: bool = False,
        related: tuple[tuple[DocumentPath, str], ...] = (),
        place: Place | None = None,
    ) -> None:
        """Add one finding; see `Diagnostic` and `Finding` for the arguments."""
        path = self.map_to_document(path)
        diagnostic = Diagnostic(
            code=code,
            message=message,
            path=format_path(path),
            given=given,
            allowed=allowed,
            hint=hint,
            severity="warning" if warning else "error",
        )
        related = tuple((self.map_to_document(other), remark) for other, remark in related)
        self.findings.append(Finding(diagnostic, path, at_key, related, place))

    def add_unknown(
        self,
        path: DocumentPath,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        sentence_end: str = "",
        at_key: bool = False,
    ) -> None:
        """Report that no element of a kind has a name; `sentence_end` ends the sentence."""
        names = list(known)
        self.add(
            "reference",
            path,
            f"there is no {kind} {name}{sentence_end}",
            allowed=format_names(names),
            hint=suggest_nearest(name, names),
            at_key=at_key,
        )

    def check_known(
        self, path: DocumentPath, kind: str, names: Iterable[str], known: Iterable[str]
    ) -> bool:
        """Report names of a list that no element of a kind has. Returns: Whether there are none."""
        bad = [(index, name) for index, name in enumerate(names) if name not in known]
        for index, name in bad:
            self.add_unknown((*path, index), kind, name, known)
        return not bad

    def map_to_document(self, path: DocumentPath) -> DocumentPath:
        """A path of the document: of what an element was generated from, if it was."""
        if self.origins:
            for length in range(len(path), 1, -1):
                if path[:length] in self.origins:
                    return self.origins[path[:length]]
        return path

    @property
    def has_errors(self) -> bool:
        """Whether anything but warnings was found."""
        return any(each.diagnostic.severity == "error" for each in self.findings)


def format_path(path: Sequence[str | int]) -> str:
    """Format a path as shown to users: ``links[R1-R2].rate``, ``flows[many].rto.min``."""
    text = ""
    named = False
    for part in path:
        if isinstance(part, str) and len(part) > _MAX_NAME_SHOWN:
            part = f"{part[:_MAX_NAME_SHOWN]}..."
        if named or isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
        named = not named and part in NAMED_SECTIONS
    return text


def format_names(names: Iterable[object], max_shown: int = 12) -> str:
    """Format the names for a message; cut where there are many."""
    words = [str(each) for each in names]
    names_text = ", ".join(words[:max_shown])
    return f"{names_text}, ... ({len(words)})" if len(words) > max_shown else names_text


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 label``, ``2 labels``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
