#!/usr/bin/env python3
"""Fetches the texts that the sample model is trained on: python3 texts.py FOLDER

Four texts in the public domain, out of packages of Debian's main archive, which say so in their `copyright` files (the
packaging is under the GPL; nothing of it is taken):

    bible    bible-kjv-text      the King James Version, printed by the program of bible-kjv
    jargon   dict-jargon         the Jargon File 4.4.7
    devil    dict-devil          Ambrose Bierce, The Devil's Dictionary
    sqlite   sqlite3-doc         the documentation of SQLite, its prose pages

Packages are downloaded with apt-get and unpacked into a temporary folder; nothing is installed, and no root is needed.
FOLDER gets NAME.txt, documents with a form feed between them, and sources.json with package versions and digests.
"""

import gzip
import hashlib
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGES = ("bible-kjv", "bible-kjv-text", "dict-jargon", "dict-devil", "sqlite3-doc")
# Lists and grammars, no prose.
NOT_PROSE = re.compile(r"crossref|keyword_index|requirements|syntaxdiagrams|doclist|docs|toc_db|sitemap|changes|"
                       r"releaselog|chronology|fileformat2|hp1|mingw|oldnews|search|lang_")
# Of a dictionary: so many characters make a document.
ENTRIES = 4000


def unpack(folder):
    """{package: version}; the files of all packages lie under `folder`."""
    subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *PACKAGES], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    versions = {}
    for package in sorted(folder.glob("*.deb")):
        ask = ["dpkg-deb", "-f", str(package), "Package", "Version"]
        said = dict(line.split(": ") for line in subprocess.check_output(ask, text=True).splitlines())
        versions[said["Package"]] = said["Version"]
        subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)
    return versions


def bible(folder):
    """A document for each chapter, a line for each verse."""
    command = [str(folder / "usr/bin/bible"), "-f", "-p", str(folder / "usr/lib"), "Ge1:1-Re22:21"]
    chapters = {}
    for line in subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).splitlines():
        found = re.match(r"(\S+?)(\d+):(\d+) (.*)", line)
        book, chapter, verse, text = found.groups()
        chapters.setdefault((book, chapter), []).append(f"{verse} {text}")
    return ["\n".join([f"{book} {chapter}", *verses]) for (book, chapter), verses in chapters.items()]


def dictionary(path):
    """Entries, which begin at the margin, gathered into documents; the page about the database is left out."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    entries = re.split(r"\n\n(?=\S)", text)
    documents, size = [[]], 0
    for entry in entries:
        if entry.startswith("00-database"):
            continue
        documents[-1].append(re.sub(r"[ \t]+", " ", entry).strip())
        size += len(documents[-1][-1])
        if size >= ENTRIES:
            documents.append([])
            size = 0
    return ["\n\n".join(document) for document in documents if document]


class Prose(html.parser.HTMLParser):
    """The text of a page, without scripts, drawings and menus; a blank line at the end of each block."""

    HIDDEN = {"script", "style", "svg", "head", "select", "form"}
    BLOCKS = {"p", "div", "li", "h1", "h2", "h3", "h4", "pre", "tr", "blockquote", "dd", "dt", "table", "ul", "ol"}

    def __init__(self):
        super().__init__()
        self.parts, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in self.HIDDEN
        if tag in self.BLOCKS:
            self.parts.append("\n\n")

    def handle_endtag(self, tag):
        self.hidden -= tag in self.HIDDEN and self.hidden > 0
        if tag in self.BLOCKS:
            self.parts.append("\n\n")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)

    def text(self):
        blocks = re.split(r"\n\s*\n", "".join(self.parts))
        blocks = [re.sub(r"\s+", " ", block).strip() for block in blocks]
        return "\n".join(block for block in blocks if len(block) > 40)


def pages(folder):
    documents = []
    for page in sorted(folder.glob("*.html")):
        if NOT_PROSE.search(page.name):
            continue
        reader = Prose()
        reader.feed(page.read_text(encoding="utf-8", errors="replace"))
        if len(reader.text()) > 1000:
            documents.append(reader.text())
    return documents


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    out = pathlib.Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        versions = unpack(folder)
        texts = {"bible": bible(folder), "jargon": dictionary(folder / "usr/share/dictd/jargon.dict.dz"),
                 "devil": dictionary(folder / "usr/share/dictd/devil.dict.dz"),
                 "sqlite": pages(folder / "usr/share/doc/sqlite3")}
    sources = {"packages": versions, "texts": {}}
    for name, documents in texts.items():
        data = "\f".join(documents).encode()
        (out / f"{name}.txt").write_bytes(data)
        sources["texts"][name] = {"documents": len(documents), "bytes": len(data),
                                  "sha256": hashlib.sha256(data).hexdigest()}
    (out / "sources.json").write_text(json.dumps(sources, indent=1) + "\n")
    print(json.dumps(sources, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
