"""Where the corpora of the tasks are published, and the SHA-256 of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

__all__ = ["SOURCES", "Source"]

_NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora"
_CR = "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/master/data"
_SICK = "https://alt.qcri.org/semeval2014/task1/data/uploads"
_SICK_TERMS = "CC BY-NC-SA 3.0; cite Marelli et al., LREC 2014"
_CR_TERMS = "no licence of their own; cite Hu and Liu, KDD 2004"


@dataclass(frozen=True)
class Source:
    """A published file: a single file, or an archive of several.

    Attributes:
        url: Its URL.
        files: The corpus files that it holds: path in the data directory -> SHA-256, None if
            unknown.
        terms: Its licence, and what to cite.
        sha256: SHA-256 of an archive; None if unknown, so that only its files are checked.
        members: Path in the data directory -> name in the archive; None for a single file.
        samples: Path in the data directory -> path and SHA-256 of a sample of that file, which the
            task reads in its place. Samples are not published, but a directory may have them.
    """

    url: str
    files: Mapping[str, str | None]
    terms: str
    sha256: str | None = None
    members: Mapping[str, str] | None = None
    samples: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the published file."""
        return PurePosixPath(self.url).name

    @property
    def known_sha256(self) -> str | None:
        """The SHA-256 of the published file; None if unknown."""
        return self.sha256 if self.members else next(iter(self.files.values()))


_SST = Source(
    "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
    {
        "sst/train.txt": "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7",
        "sst/dev.txt": "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40",
        "sst/test.txt": "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761",
    },
    "no explicit licence; cite Socher et al., EMNLP 2013",
    sha256="5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
    members={f"sst/{split}.txt": f"trees/{split}.txt" for split in ("train", "dev", "test")},
)


def _nltk(name: str, sha256: str, terms: str) -> Source:
    return Source(f"{_NLTK}/{name}.zip", {f"nltk_data/corpora/{name}.zip": sha256}, terms)


def _sick(archive: str, name: str, sha256: str) -> Source:
    path = f"sick/{name}"
    return Source(f"{_SICK}/{archive}.zip", {path: sha256}, _SICK_TERMS, members={path: name})


SOURCES: Mapping[str, tuple[Source, ...]] = {
    "cr": (
        Source(
            f"{_CR}/custrev.neg",
            {"cr/custrev.neg": "8f29d7fa39f9862764b71f36b193f0674e0056287ffc5bf170edf6db42cc8f83"},
            _CR_TERMS,
        ),
        Source(
            f"{_CR}/custrev.pos",
            {"cr/custrev.pos": "15eeb0b9424043bb3755488e2d8ed97bdaeba464a5c230f213bad075125d2192"},
            _CR_TERMS,
        ),
    ),
    "mr": (
        _nltk(
            "sentence_polarity",
            "6e1ed4405b65c7eabf1d199a7f7c437091ac21da0ea7467b410a74062574566b",
            "CC BY 4.0; cite Pang and Lee, ACL 2005",
        ),
    ),
    "sick": (
        _sick(
            "sick_train",
            "SICK_train.txt",
            "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e",
        ),
        _sick(
            "sick_trial",
            "SICK_trial.txt",
            "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56",
        ),
        _sick(
            "sick_test_annotated",
            "SICK_test_annotated.txt",
            "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0",
        ),
    ),
    "sst2": (_SST,),
    "sst5": (_SST,),
    "subj": (
        _nltk(
            "subjectivity",
            "741f3371e1a4375051b874fd82fd55857b90975473c91c19a3101cbe17fc4d8c",
            "CC BY 4.0; cite Pang and Lee, ACL 2004",
        ),
    ),
    "trec": (
        _nltk(
            "qc",
            "091fb01e50883014d150acb7d5013d787136968b3f955ae01725a65e7e80f304",
            "for research; cite Li and Roth, COLING 2002",
        ),
    ),
    "twitter": (
        Source(
            "https://cs.stanford.edu/people/alecmgo/trainingandtestdata.zip",
            {
                "twitter/training.1600000.processed.noemoticon.csv": None,
                "twitter/testdata.manual.2009.06.14.csv": (
                    "c77669cc86ae85d3807d65fc13fed0c395266db518d4eaa0ff1f19bf6efbbdd3"
                ),
            },
            "for research; cite Go, Bhayani and Huang 2009",
            sha256="004a3772c8a7ff9bbfeb875880f47f0679d93fc63e5cf9cff72d54a8a6162e57",
            members={
                "twitter/training.1600000.processed.noemoticon.csv": (
                    "training.1600000.processed.noemoticon.csv"
                ),
                "twitter/testdata.manual.2009.06.14.csv": "testdata.manual.2009.06.14.csv",
            },
            samples={
                "twitter/training.1600000.processed.noemoticon.csv": (
                    "twitter/training.20000.processed.noemoticon.csv",
                    "a41c31bc15988dbefe7fcb29e36e36be50eb3b9dc555e5a4cd6f4df4877bf9a7",
                ),
            },
        ),
    ),
}
