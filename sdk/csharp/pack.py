"""Make the NuGet package: pack.py FOLDER, which has Scoreboard.Client.dll and gets the package.

It does what `dotnet pack` does with the nuspec, for machines without .NET: the version is that of package.json, and the
nuspec and its files are checked by the rules of NuGet's reference. Two runs make the same bytes.
"""

import json
import re
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
NAMESPACE = "http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd"
# What the reference knows of metadata: the attributes that an element must have.
METADATA = {
    "id": set(), "version": set(), "authors": set(), "description": set(), "license": {"type"}, "readme": set(),
    "projectUrl": set(), "releaseNotes": set(), "repository": {"type", "url"}, "tags": set(), "dependencies": set(),
}  # fmt: skip
REQUIRED = {"id", "version", "authors", "description", "license", "readme", "dependencies"}
VERSION = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"


def problems(package: ET.Element, sources: list[Path]) -> list[str]:
    """What NuGet, or nuget.org, would reject."""
    found = []
    if package.tag != f"{{{NAMESPACE}}}package" or [e.tag for e in package] != [
        f"{{{NAMESPACE}}}metadata",
        f"{{{NAMESPACE}}}files",
    ]:
        return ["not a package with metadata and files"]
    metadata, files = package
    values = {}
    for element in metadata:
        name = element.tag.removeprefix(f"{{{NAMESPACE}}}")
        if name in values:
            found.append(f"{name} stands twice")
        if name not in METADATA or set(element.attrib) != METADATA[name]:
            found.append(f"{name} with {sorted(element.attrib)} is not known")
        values[name] = (element.text or "").strip()
    found += [f"{name} is missing" for name in sorted(REQUIRED - values.keys())]
    if found:
        return found
    if not re.fullmatch(r"\w+([.-]\w+)*", values["id"]) or len(values["id"]) > 100:
        found.append(f"id {values['id']} is invalid")
    if not re.fullmatch(VERSION, values["version"]):
        found.append(f"version {values['version']} is no semantic version")
    long = [name for name in ("authors", "description", "tags") if len(values.get(name, "")) > 4000]
    found += [f"{name} is longer than 4,000 characters" for name in long]
    if not values.get("projectUrl", "https://").startswith("https://"):
        found.append("projectUrl is no https URL")
    targets = [f.get("target", "") for f in files]
    if values["readme"] not in targets:
        found.append(f"readme {values['readme']} is not among the files")
    frameworks = {g.get("targetFramework") for g in metadata.iter(f"{{{NAMESPACE}}}group")}
    libraries = {t.split("/")[1] for t in targets if t.startswith("lib/")}
    if {(f or "").lower().lstrip(".") for f in frameworks} != libraries:
        found.append(f"dependencies are of {sorted(map(str, frameworks))}, libraries of {sorted(libraries)}")
    if any(t != t.strip("/") or "\\" in t or ".." in t for t in targets) or len(set(targets)) != len(targets):
        found.append(f"targets are invalid: {targets}")
    return found + [f"{s} does not exist" for s in sources if not s.is_file()]


def media(extension: str) -> str:
    return f"application/{'vnd.openxmlformats-package.relationships+xml' if extension == 'rels' else 'octet'}"


def main(folder: Path) -> int:
    version = json.loads((HERE / "package.json").read_text())["version"]
    text = (HERE / "Scoreboard.Client.nuspec").read_text().replace("$version$", version)
    package = ET.fromstring(text)
    files = [(f.get("src", ""), f.get("target", "")) for f in package.iter(f"{{{NAMESPACE}}}file")]
    sources = [(folder if src.endswith(".dll") else HERE) / src for src, _ in files]
    if wrong := problems(package, sources):
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    package.remove(package[1])
    ET.register_namespace("", NAMESPACE)
    types = {Path(target).suffix.lstrip(".") for _, target in files} | {"nuspec", "rels"}
    parts = {
        "Scoreboard.Client.nuspec": ET.tostring(package, encoding="utf-8", xml_declaration=True),
        "_rels/.rels": b'<?xml version="1.0" encoding="utf-8"?><Relationships '
        b'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="R1" '
        b'Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/Scoreboard.Client.nuspec" />'
        b"</Relationships>",
        "[Content_Types].xml": (
            '<?xml version="1.0" encoding="utf-8"?>'
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            + "".join(f'<Default Extension="{t}" ContentType="{media(t)}" />' for t in sorted(types - {""}))
            + "".join(
                f'<Override PartName="/{target}" ContentType="application/octet" />'
                for _, target in files
                if not Path(target).suffix
            )
            + "</Types>"
        ).encode(),
    }
    parts |= {target: source.read_bytes() for (_, target), source in zip(files, sources)}
    name = folder / f"Scoreboard.Client.{version}.nupkg"
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in sorted(parts.items()):
            archive.writestr(zipfile.ZipInfo(part, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    print(f"{name.name}: {name.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
