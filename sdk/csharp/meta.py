"""Write the .meta files that Unity needs beside each file of a package. With --check, fail if one is missing or wrong.

Unity ignores a file of an installed package without one. Names that end with ~ are hidden from Unity, and need none.
"""

import hashlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
SKIPPED = {"generate.py", "meta.py", "pack.py", "Scoreboard.Client.nuspec"}

IMPORTERS = {
    ".cs": "MonoImporter:\n  externalObjects: {}\n  serializedVersion: 2\n  defaultReferences: []\n  executionOrder: 0\n  icon: {instanceID: 0}\n",
    ".asmdef": "AssemblyDefinitionImporter:\n  externalObjects: {}\n",
    ".json": "PackageManifestImporter:\n  externalObjects: {}\n",
    ".md": "TextScriptImporter:\n  externalObjects: {}\n",
}  # fmt: skip
DEFAULT = "DefaultImporter:\n  externalObjects: {}\n"
END = "  userData:\n  assetBundleName:\n  assetBundleVariant:\n"


def assets() -> list[Path]:
    found = []
    for path in sorted(HERE.rglob("*")):
        parts = path.relative_to(HERE).parts
        hidden = any(part.endswith("~") or part.startswith((".", "__")) for part in parts)
        if not hidden and path.suffix != ".meta" and parts[0] not in SKIPPED:
            found.append(path)
    return found


def meta(path: Path) -> str:
    name = path.relative_to(HERE).as_posix()
    guid = hashlib.sha256(f"com.scoreboard.client/{name}".encode()).hexdigest()[:32]
    folder = "folderAsset: yes\n" if path.is_dir() else ""
    return f"fileFormatVersion: 2\nguid: {guid}\n{folder}{IMPORTERS.get(path.suffix, DEFAULT)}{END}"


def main() -> int:
    wanted = {path.with_name(path.name + ".meta"): meta(path) for path in assets()}
    if "--check" not in sys.argv:
        for path in HERE.rglob("*.meta"):
            path.unlink()
        for path, text in wanted.items():
            path.write_text(text)
        return 0
    wrong = {path for path, text in wanted.items() if not path.exists() or path.read_text() != text}
    wrong |= set(HERE.rglob("*.meta")) - set(wanted)
    for path in sorted(wrong):
        print(f"{path.relative_to(HERE)} is not current: run python sdk/csharp/meta.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
