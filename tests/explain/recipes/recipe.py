"""A recipe: how to make one failure of the catalogue happen in a lab, and which command must name it."""
import importlib
import re
from dataclasses import dataclass
from pathlib import Path

from tests.run.launchers import DEPS, MPI, SYSTEM_PATH


@dataclass(frozen=True)
class Step:
    """A line for root's shell on some hosts, or words for `muster lab`."""
    hosts: tuple = ()
    line: str = ""
    words: tuple = ()


def on(hosts, line):
    """on("n1,n2", "rm /etc/hosts"): a line for root's shell. The launcher is called "launcher"."""
    return Step(hosts=tuple(hosts.split(",")), line=line)


def lab(*words):
    """For example lab("break", "n2", "small-shm")."""
    return Step(words=words)


@dataclass(frozen=True)
class Recipe:
    """Three words in steps, command and files stand for paths. HERE: the folder of the recipe's files, which all hosts see.
    PROGRAM: the MPI program (mpi_program.cxx), linked to the recipe's `mpi`. TORCH: the folder of the Python that has PyTorch.
    """
    id: str  # the failure's id in the catalogue
    name: str  # what goes wrong, in a few words; unique
    command: str  # for the launcher's shell, as the ordinary user. `muster check --json ...` must find the failure; of others, `muster explain` reads the output
    make: tuple = ()  # steps that break something
    undo: tuple = ()  # steps that restore the lab
    files: dict = None  # name: content; a file that begins with #! is made executable
    hosts: tuple = None  # the hosts that muster must name; None: the log does not show them
    ranks: tuple = None  # the ranks that may be named; None: any
    says: str = ""  # a pattern in the first cause's title or fix, such as the name of a host in the log
    also: tuple = ()  # further findings of the check, or further causes in the log after the first
    follows: tuple = ()  # consequences that the log also shows, and that muster must report as such
    benign: tuple = ()  # ids of failures that the log also shows, but that muster must not name
    lab: str = "hosts=3"  # flags of `lab up`; recipes with equal flags share a lab. slurm=yes: with Slurm
    own_lab: bool = False  # a lab for this recipe alone, because the failure cannot be undone
    mpi: str = ""  # first in PATH: "openmpi4", "openmpi5", "mpich" or "intel"
    within: int = 60  # limit for the command on a quiet machine, in seconds
    explains: str = ""  # words for `muster explain` instead of the log; "RUN" is the run that the command started
    ci: bool = False  # whether CI runs it; CI runs only a few

    @property
    def is_check(self):
        return "muster check" in self.command

    @property
    def folder(self):
        return "".join(c if c.isalnum() else "-" for c in self.name)

    @property
    def path(self):
        return f"{MPI[self.mpi]}/bin:{SYSTEM_PATH}" if self.mpi else SYSTEM_PATH

    def filled(self, text, shared: Path):
        meant = {"HERE": shared / "recipes" / self.folder, "TORCH": DEPS / "torch/bin", "PROGRAM": shared / "mpi-programs" / self.mpi}
        return re.sub(r"\b(HERE|TORCH|PROGRAM)\b", lambda word: str(meant[word[0]]), text)


def all_recipes():
    """The recipes of all modules in this folder, by topic."""
    modules = [importlib.import_module(f"tests.explain.recipes.{file.stem}") for file in sorted(Path(__file__).parent.glob("*.py")) if file != Path(__file__)]
    return [recipe for module in modules for recipe in module.RECIPES]
