"""The script for fish: one line for each option and command, with descriptions."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.kit.console.flags import storages
from pilotage.kit.console.shells.commands import Command, Option, Values

_HEADING = """\
# Completion of {program} for fish. Load it with: {program} completion fish | source
function __{function}_at
    set -l command {program}
    set -l value no
    for word in (commandline -opc)[2..]
        if test $value = yes
            set value no
        else if contains -- "$word" {places}
            set value yes
        else if contains -- "$command $word" {commands}
            set command "$command $word"
        end
    end
    test "$command" = "$argv[1]"
end
function __{function}_objects
    set -l current (commandline -ct)
    {program} completion objects -- (commandline -opc)[2..] "$current" 2>/dev/null
end
complete -c {program} -e
complete -c {program} -f
"""
_FILES = {
    Values.FILE: "(__fish_complete_path)",
    Values.FOLDER: "(__fish_complete_directories)",
    Values.PROGRAM: "(__fish_complete_suffix .py)",
    Values.OBJECT: "(__{function}_objects)",
}


def script(root: Command) -> str:
    """The completion script for fish."""
    commands = " ".join(_quoted(command.name) for command in root.all() if command is not root)
    heading = _HEADING.format(
        commands=commands, places=" ".join(storages.FLAGS), program=root.program, function=root.function
    )
    return "\n".join([heading, *(line for each in root.all() for line in _lines(each))]) + "\n"


def _lines(command: Command) -> Iterator[str]:
    start = f"complete -c {command.program} -n {_quoted(f'__{command.function}_at {_quoted(command.name)}')}"
    for each in command.subcommands:
        yield f"{start} -a {each.words[-1]} -d {_quoted(each.help)}"
    for option in command.options:
        yield f"{start}{_flags(option)}{_value(option, command.function)} -d {_quoted(option.help)}"
    if command.choices:
        yield f"{start} -a {_quoted(' '.join(command.choices))}"
    elif command.arguments in _FILES:
        yield f"{start} -a {_quoted(_FILES[command.arguments].format(function=command.function))}"


def _flags(option: Option) -> str:
    return "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in option.flags)


def _value(option: Option, function: str) -> str:
    if option.values is None:
        return ""
    words = " ".join(option.choices) or _FILES.get(option.values, "").format(function=function)
    return f" -x -a {_quoted(words)}" if words else " -x"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
